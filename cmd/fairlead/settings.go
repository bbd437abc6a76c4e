package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/fairlead-io/fairlead/broker/config"
)

// listSettings prints the table of settings, as docs/settings.md has it.
func listSettings(_ context.Context, args []string, out io.Writer) error {
	scopes := []struct {
		name string
		defs []config.Def
	}{{"topic", config.TopicDefs()}, {"broker", config.BrokerDefs()}}
	if len(args) > 1 || len(args) == 1 && args[0] != "topic" && args[0] != "broker" {
		return usageError("config: want topic or broker")
	}
	fmt.Fprint(out, "<!-- Made by `fairlead config`; `make verify` compares. -->\n# Settings\n\n"+
		"Names, types, defaults and ranges are Apache Kafka 4.4's. *Ignored* settings are accepted, checked and described, and have no effect.\n"+
		"Broker settings marked *dynamic* can be altered while brokers run, for one broker or for all; the others are read from its file at the start.\n"+
		"Some of those are dynamic in Kafka (`listeners`, `listener.security.protocol.map`, `num.recovery.threads.per.data.dir`): altering them is refused here rather than taken without effect.\n"+
		"In a broker's file `${env:NAME}` stands for an environment variable and `${file:PATH}` for the content of a file.\n")
	for _, s := range scopes {
		if len(args) == 1 && args[0] != s.name {
			continue
		}
		fmt.Fprintf(out, "\n## Settings of a %s\n\n| name | type | default | range | | what it does |\n|---|---|---|---|---|---|\n", s.name)
		for i := range s.defs {
			if d := &s.defs[i]; !d.Internal {
				fmt.Fprintf(out, "| `%s` | %s | %s | %s | %s | %s |\n", d.Name, strings.ToLower(d.Type.String()), defaultText(d), rangeText(d), marks(d, s.name), d.Doc)
			}
		}
	}
	return nil
}

func defaultText(d *config.Def) string {
	if d.Default == nil || *d.Default == "" {
		return ""
	}
	return "`" + *d.Default + "`"
}

func rangeText(d *config.Def) string {
	if d.Valid == nil {
		return ""
	}
	return d.Valid.String()
}

func marks(d *config.Def, scope string) string {
	var m []string
	if scope == "broker" && d.Dynamic() != config.ReadOnly {
		m = append(m, "dynamic")
	}
	if d.Meaning == config.Ignored {
		m = append(m, "ignored")
	}
	return strings.Join(m, ", ")
}
