package config

// Checked is what can be said of one broker setting and a value for it, without the others.
type Checked struct {
	Known   bool   // the table has it; an unknown one is accepted in a file and has no effect
	Update  Update // how it may change while brokers run: see [Def.Dynamic]; ReadOnly when it is not known
	Ignored bool   // accepted, and without effect in Fairlead
	Problem string // why the value cannot be, in one line; "" when it can
}

// CheckBroker judges a value of a broker's file, or, where Update allows it, one that is altered while brokers run. What depends on other
// settings too, as listeners do, is judged by [ParseBroker] over all of them.
func CheckBroker(name, value string) Checked {
	d := BrokerDef(name)
	if d == nil {
		return Checked{}
	}
	c := Checked{Known: true, Update: d.Dynamic(), Ignored: d.Meaning == Ignored}
	if refusal := d.Check(value); refusal != nil {
		c.Problem = refusal.Message
	}
	return c
}

func (u Update) String() string {
	return [...]string{ReadOnly: "read-only", PerBroker: "per-broker", ClusterWide: "cluster-wide"}[u]
}
