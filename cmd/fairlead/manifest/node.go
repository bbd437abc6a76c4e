package manifest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// node is a YAML node with its place.
type node struct {
	*yaml.Node
	at Place
}

// maxAliases bounds aliases that stand for aliases.
const maxAliases = 8

func (p Place) node(n *yaml.Node, field string) node {
	p.Line, p.Field = n.Line, field
	for range maxAliases {
		if n.Kind != yaml.AliasNode {
			break
		}
		n = n.Alias
	}
	return node{n, p}
}

// fields calls take for each field of a mapping, in the order of the file. Nothing stands for an empty mapping.
func (n node) fields(take func(name string, value node) error) error {
	if n.null() {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return n.at.errorf("want fields, got %s", n.describe())
	}
	var seen []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.at.node(n.Content[i], n.at.Field)
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			return key.at.errorf("want the name of a field, got %s", key.describe())
		}
		path := key.Value
		if n.at.Field != "" {
			path = n.at.Field + "." + key.Value
		}
		value := n.at.node(n.Content[i+1], path)
		value.at.Line = key.at.Line
		if slices.Contains(seen, key.Value) {
			return value.at.errorf("is there twice")
		}
		seen = append(seen, key.Value)
		if err := take(key.Value, value); err != nil {
			return err
		}
	}
	return nil
}

func (n node) null() bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// text is a string; numbers and booleans are none, as the API server has it.
func (n node) text() (string, error) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		return n.Value, nil
	}
	if n.Kind == yaml.ScalarNode && !n.null() {
		return "", n.at.errorf("want a string, got %s: put it in quotes, %q", n.describe(), n.Value)
	}
	return "", n.at.errorf("want a string, got %s", n.describe())
}

// number is an integer in [1, most].
func (n node) number(most int32) (int32, error) {
	var v int64
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || n.Decode(&v) != nil {
		return 0, n.at.errorf("want a whole number, got %s", n.describe())
	}
	if v < 1 || v > int64(most) {
		return 0, n.at.errorf("%d: want 1 to %d", v, most)
	}
	return int32(v), nil
}

func (n node) unknown() error { return n.at.errorf("unknown field") }

// describe says what kind of value it is.
func (n node) describe() string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		if n.null() {
			return "nothing"
		}
		kind := map[string]string{"!!str": "the string", "!!int": "the number", "!!float": "the number", "!!bool": "the boolean"}[n.Tag]
		return strings.TrimSpace(fmt.Sprintf("%s %s", kind, strconv.Quote(n.Value)))
	}
	return "something else"
}
