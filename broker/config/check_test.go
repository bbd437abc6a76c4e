package config

import "testing"

func TestCheckBroker(t *testing.T) {
	f := func(name, value string, want Checked) {
		t.Helper()
		if got := CheckBroker(name, value); got != want {
			t.Errorf("%s=%s: %+v, want %+v", name, value, got, want)
		}
	}
	f("node.id", "1", Checked{Known: true})
	f("log.retention.ms", "1000", Checked{Known: true, Update: ClusterWide})
	f("log.retention.ms", "soon", Checked{Known: true, Update: ClusterWide, Problem: "Invalid value soon for configuration log.retention.ms: Not a number of type LONG"})
	f("max.connections.per.ip", "-1", Checked{Known: true, Update: ClusterWide, Problem: "Invalid value -1 for configuration max.connections.per.ip: Value must be at least 0"})
	f("leader.replication.throttled.rate", "5", Checked{Known: true, Update: PerBroker})
	f("num.io.threads", "5", Checked{Known: true, Update: ClusterWide, Ignored: true})
	f("listeners", "PLAINTEXT://:1", Checked{Known: true}) // dynamic in Kafka
	f("some.plugin", "x", Checked{})
	if got := [...]string{ReadOnly.String(), PerBroker.String(), ClusterWide.String()}; got != [...]string{"read-only", "per-broker", "cluster-wide"} {
		t.Error(got)
	}
}

// What Kafka changes live and Fairlead reads from the file is refused, not taken without effect.
func TestSettingsOfTheFileAreNotAltered(t *testing.T) {
	for i := range BrokerDefs() {
		d := &BrokerDefs()[i]
		if !d.FileOnly {
			continue
		}
		if d.Update == ReadOnly || d.Meaning == Ignored {
			t.Errorf("%s: FileOnly says nothing", d.Name)
		}
		refusal := ValidateBroker(OneBroker, Values{d.Name: *d.Default})
		if want := "Cannot update these configs dynamically: [" + d.Name + "]"; refusal == nil || refusal.Message != want {
			t.Errorf("%s: %v, want %s", d.Name, refusal, want)
		}
	}
}
