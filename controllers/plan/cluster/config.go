package cluster

import (
	"strings"

	brokerconfig "github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/controllers/conditions"
	"github.com/fairlead-io/fairlead/controllers/desired"
)

// config decides which settings brokers may get: those of the spec if a broker would start with them, else those that they have. Everything
// else of the spec is carried out with either.
func config(t *turn) {
	user := t.userSettings()
	err := t.checkConfig()
	if err == nil {
		t.want.Settings = user
		if unknown := desired.WithoutEffect(user); len(unknown) > 0 {
			t.find(conditions.ConfigValid, conditions.WithoutEffect, "no broker knows "+strings.Join(unknown, ", "))
			return
		}
		t.find(conditions.ConfigValid, conditions.Valid, "")
		return
	}
	kept, ok := t.keptSettings()
	if !ok {
		t.makeObjects = false // nothing to go back to: no broker is made with settings that somebody is about to correct
		t.find(conditions.ConfigValid, conditions.ConfigInvalid, "spec.config: "+err.Error()+"; no broker is made until it is corrected")
		return
	}
	t.find(conditions.ConfigValid, conditions.ConfigInvalid, "spec.config: "+err.Error()+"; the brokers keep the settings that they have")
	t.want.Settings = kept
}

func (t *turn) userSettings() brokerconfig.Values {
	v := brokerconfig.Values{}
	for name, value := range t.c.Spec.Config {
		v[name] = value
	}
	return v
}

func (t *turn) checkConfig() error { return t.want.CheckSettings(t.userSettings()) }

// keptSettings are the user's in the file that brokers have now.
func (t *turn) keptSettings() (brokerconfig.Values, bool) {
	m := t.s.Objects.ConfigMap
	if m == nil {
		return nil, false
	}
	file, err := desired.FileSettings(m)
	if err != nil || len(file) == 0 {
		return nil, false
	}
	kept := desired.UserSettings(file)
	return kept, t.want.CheckSettings(kept) == nil
}
