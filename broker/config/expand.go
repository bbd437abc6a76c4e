package config

import (
	"fmt"
	"strings"
)

// Lookup gives the text behind a reference: env and the name of a variable, or file and a path.
type Lookup func(provider, key string) (string, error)

// Expand replaces each ${PROVIDER:KEY} in the values by what lookup gives for it, as Kafka's configuration providers do. What was looked up
// is not looked at again. A value without references stays as it is, and so does text in braces without a colon.
func Expand(v Values, lookup Lookup) (Values, error) {
	out := make(Values, len(v))
	for _, name := range v.Names() {
		value, err := expand(v[name], lookup)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = value
	}
	return out, nil
}

func expand(text string, lookup Lookup) (string, error) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "${")
		inner, rest, closed := strings.Cut(after, "}")
		provider, key, isReference := strings.Cut(inner, ":")
		if !found || !closed {
			b.WriteString(text)
			return b.String(), nil
		}
		b.WriteString(before)
		text = rest
		if !isReference {
			b.WriteString("${" + inner + "}")
			continue
		}
		value, err := lookup(provider, key)
		if err != nil {
			return "", fmt.Errorf("${%s}: %w", inner, err)
		}
		b.WriteString(value)
	}
}
