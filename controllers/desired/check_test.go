package desired

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/broker/config"
)

func TestSettingsAreRefusedWithTheirName(t *testing.T) {
	for _, r := range []struct {
		user config.Values
		want string // part of the error; empty: none
	}{
		{nil, ""},
		{config.Values{"num.partitions": "3", "log.retention.ms": "-1"}, ""},
		{config.Values{"some.plugin": "x"}, ""},
		{config.Values{"num.partitions": "x"}, "num.partitions: Invalid value x for configuration num.partitions: Not a number of type INT"},
		{config.Values{"num.partitions": "0"}, "num.partitions: "},
		{config.Values{"min.insync.replicas": "two"}, "min.insync.replicas: "},
		{config.Values{"some.plugin": "${env:HOME}"}, "some.plugin: references"},
	} {
		err := minimal().CheckSettings(r.user)
		if r.want == "" && err != nil || r.want != "" && (err == nil || !strings.HasPrefix(err.Error(), r.want)) {
			t.Errorf("%v: %v, want %q", r.user, err, r.want)
		}
	}
}

func TestMisspeltSettingsAreNamed(t *testing.T) {
	if got := WithoutEffect(config.Values{"num.partitions": "1", "z": "1", "log.retension.ms": "1"}); strings.Join(got, ",") != "log.retension.ms,z" {
		t.Error(got)
	}
}
