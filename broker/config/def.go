package config

// Type is the type of a setting, with the numbers of DescribeConfigs.
type Type int8

// The types of DescribeConfigs version 3 and later.
const (
	Bool     Type = 1
	String   Type = 2
	Int      Type = 3
	Short    Type = 4
	Long     Type = 5
	Double   Type = 6
	List     Type = 7
	Class    Type = 8
	Password Type = 9
)

func (t Type) String() string {
	names := [...]string{"UNKNOWN", "BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD"}
	if t < 0 || int(t) >= len(names) {
		t = 0
	}
	return names[t]
}

// Update says how a broker setting may change while brokers run. Topic settings always may.
type Update int8

const (
	// ReadOnly settings come from the broker's file and need a restart.
	ReadOnly Update = iota
	// PerBroker settings may be altered for one broker, or for all as a default.
	PerBroker
	// ClusterWide settings may be altered for all brokers; for one broker only to test a value.
	ClusterWide
)

// Meaning says what a setting does in Fairlead.
type Meaning int8

const (
	// Served settings have the effect that Kafka documents.
	Served Meaning = iota
	// Ignored settings are accepted, validated and described, and have no effect.
	Ignored
)

// Def is one row of the table.
type Def struct {
	Name    string
	Type    Type
	Default *string // nil: no value unless set
	Valid   Rule    // beyond the type; nil accepts every value of the type
	Update  Update  // broker settings only; as in Kafka, see FileOnly
	// FileOnly settings change in Kafka while brokers run. Here they count from the broker's file and need a restart, and altering them
	// is refused rather than taken without effect.
	FileOnly bool
	Meaning  Meaning
	Doc      string // one or two sentences in our own words
	// Synonyms of a topic setting are the broker settings that give its default, most important first;
	// of a broker setting, the coarser ones that apply when it is not set (log.retention.hours).
	Synonyms []Synonym
	Internal bool // accepted but not described
}

// Synonym is another setting that gives a value when the first is unset.
type Synonym struct {
	Name string
	Unit int64 // its value is multiplied by Unit to give the first one's; 1 for the same unit
}

// Sensitive settings are described without their value.
func (d *Def) Sensitive() bool { return d.Type == Password }

// Dynamic says how the setting may change while brokers of Fairlead run.
func (d *Def) Dynamic() Update {
	if d.FileOnly {
		return ReadOnly
	}
	return d.Update
}

// TopicDefs lists the topic settings by name. The caller does not change it.
func TopicDefs() []Def { return topicTable.rows }

// BrokerDefs lists the broker settings by name. The caller does not change it.
func BrokerDefs() []Def { return brokerTable.rows }

// TopicDef finds a topic setting, or nil.
func TopicDef(name string) *Def { return topicTable.find(name) }

// BrokerDef finds a broker setting, or nil.
func BrokerDef(name string) *Def { return brokerTable.find(name) }
