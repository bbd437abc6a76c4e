package config

// Entry is one setting as DescribeConfigs answers it.
type Entry struct {
	Name      string
	Value     *string // nil: none, or not shown
	Source    Source
	ReadOnly  bool
	Sensitive bool
	Type      Type // 0 for settings that the table does not know
	Synonyms  []EntrySynonym
	Doc       string
}

// EntrySynonym is one place that gives a setting a value, the deciding one first.
type EntrySynonym struct {
	Name   string
	Value  *string
	Source Source
}

// DescribeTopic lists every topic setting, by name.
func DescribeTopic(l Layers) []Entry {
	entries := make([]Entry, 0, len(topicTable.rows))
	for i := range topicTable.rows {
		d := &topicTable.rows[i]
		if _, set := l.Topic[d.Name]; d.Internal && !set {
			continue
		}
		e := entryOf(d, l.topicSynonyms(d))
		if p, ok := l.topicValue(d); ok {
			e.Value = text(p.String())
		}
		entries = append(entries, e)
	}
	return entries
}

// DescribeBroker lists every setting of one broker, by name: those of the table and those unknown ones that it was given.
func DescribeBroker(l Layers) []Entry {
	entries := make([]Entry, 0, len(brokerTable.rows))
	for i := range brokerTable.rows {
		d := &brokerTable.rows[i]
		chain := l.brokerChain(d)
		if d.Internal && (len(chain) == 0 || chain[0].source == SourceTable) {
			continue
		}
		e := entryOf(d, l.brokerSynonyms(d))
		e.ReadOnly = d.Dynamic() == ReadOnly
		if len(chain) > 0 {
			e.Value = shown(chain[0])
		}
		entries = append(entries, e)
	}
	return append(entries, unknown(l)...)
}

// DescribeBrokerDefault lists what was altered for all brokers, by name.
func DescribeBrokerDefault(defaults Values) []Entry {
	var entries []Entry
	for _, name := range defaults.Names() {
		d := BrokerDef(name)
		if d == nil {
			entries = append(entries, hidden(name, SourceBrokerDefault))
			continue
		}
		f := found{def: d, value: defaults[name], source: SourceBrokerDefault}
		e := entryOf(d, []found{f})
		e.ReadOnly, e.Value = d.Dynamic() == ReadOnly, shown(f)
		entries = append(entries, e)
	}
	return entries
}

// entryOf fills what follows from the table and the chain; the value is the caller's to add.
func entryOf(d *Def, chain []found) Entry {
	e := Entry{Name: d.Name, Source: SourceTable, Sensitive: d.Sensitive(), Type: d.Type, Doc: d.Doc}
	for i, f := range chain {
		if i == 0 {
			e.Source = f.source
		}
		e.Synonyms = append(e.Synonyms, EntrySynonym{Name: f.def.Name, Value: shown(f), Source: f.source})
	}
	return e
}

// topicSynonyms is the chain as Kafka shows it. Where a broker setting has coarser synonyms (log.retention.hours),
// they show only below a value of the setting itself.
func (l Layers) topicSynonyms(d *Def) []found {
	var chain []found
	if v, ok := l.Topic[d.Name]; ok {
		chain = append(chain, found{def: d, value: v, source: SourceTopic})
	}
	if len(d.Synonyms) == 0 {
		return chain
	}
	if b := BrokerDef(d.Synonyms[0].Name); b != nil {
		chain = append(chain, l.brokerSynonyms(b)...)
	}
	return chain
}

// brokerSynonyms is the chain of a broker setting and, when it has a value of its own, of its coarser synonyms.
func (l Layers) brokerSynonyms(d *Def) []found {
	chain := l.brokerChain(d)
	if len(chain) == 0 {
		return nil
	}
	for _, s := range d.Synonyms {
		if b := BrokerDef(s.Name); b != nil {
			chain = append(chain, l.brokerChain(b)...)
		}
	}
	return chain
}

// unknown are settings that the table does not know: their values may be secrets of some plug-in.
func unknown(l Layers) []Entry {
	all := Values{}
	for _, layer := range []Values{l.Static, l.Default, l.Broker} {
		for name := range layer {
			if BrokerDef(name) == nil {
				all[name] = ""
			}
		}
	}
	var entries []Entry
	for _, name := range all.Names() {
		source := SourceStatic
		if _, ok := l.Default[name]; ok {
			source = SourceBrokerDefault
		}
		if _, ok := l.Broker[name]; ok {
			source = SourceBroker
		}
		entries = append(entries, hidden(name, source))
	}
	return entries
}

func hidden(name string, source Source) Entry {
	return Entry{Name: name, Source: source, ReadOnly: true, Sensitive: true,
		Synonyms: []EntrySynonym{{Name: name, Source: source}}}
}

// shown is the value in the form of its type, or nil when it may not be seen.
func shown(f found) *string {
	if f.def.Sensitive() {
		return nil
	}
	if p, refusal := f.def.parse(f.value); refusal == nil {
		return text(p.String())
	}
	return text(f.value)
}

func text(s string) *string { return &s }
