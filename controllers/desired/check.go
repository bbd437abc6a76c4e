package desired

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/broker/config"
)

// CheckSettings tells whether a broker would start with the settings of spec.config. Its error is one clause with the name of the setting.
func (c Cluster) CheckSettings(user config.Values) error {
	for _, name := range user.Names() {
		if strings.Contains(user[name], "${") {
			return fmt.Errorf("%s: references such as ${env:NAME} are not resolved in spec.config", name)
		}
		d := config.BrokerDef(name)
		if d == nil {
			continue
		}
		if refusal := d.Check(user[name]); refusal != nil {
			return fmt.Errorf("%s: %w", name, refusal)
		}
	}
	c.Settings = user
	all, err := config.Expand(c.BrokerSettings(), func(provider, key string) (string, error) {
		switch {
		case provider == "env" && key == "NODE_ID":
			return "0", nil
		case provider == "env" && key == "POD_NAME":
			return Pod(c.Name, 0), nil
		case provider == "file":
			return "rack", nil
		}
		return "", errors.New("not provided to brokers")
	})
	if err != nil {
		return err
	}
	if _, _, err = config.ParseBroker(all); err != nil {
		return err
	}
	return nil
}

// WithoutEffect are the settings that no broker knows, ascending: most of them are misspelt.
func WithoutEffect(user config.Values) []string {
	var names []string
	for _, name := range user.Names() {
		if config.BrokerDef(name) == nil {
			names = append(names, name)
		}
	}
	return names
}
