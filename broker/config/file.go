package config

import (
	"fmt"
	"strconv"
	"strings"
)

// Notice is something about a broker's file that its owner may want to know and that does not stop the broker.
type Notice struct {
	Name    string
	Message string
}

// ParseFile reads a broker's properties file: all values must be valid, node.id and the listeners must be there.
// The error is one line. Notices name settings without effect here and settings that the table does not know.
func ParseFile(text string) (Values, Broker, []Notice, error) {
	static, err := ParseProperties(text)
	if err != nil {
		return nil, Broker{}, nil, err
	}
	b, notices, err := ParseBroker(static)
	return static, b, notices, err
}

// ParseBroker checks a broker's settings and gives the typed view.
func ParseBroker(static Values) (Broker, []Notice, error) {
	var notices []Notice
	for _, name := range static.Names() {
		d := BrokerDef(name)
		if d == nil {
			notices = append(notices, Notice{name, "unknown setting: it has no effect"})
			continue
		}
		if refusal := d.Check(static[name]); refusal != nil {
			return Broker{}, nil, refusal
		}
		if d.Meaning == Ignored {
			notices = append(notices, Notice{name, "accepted: this setting of Kafka's has no effect in Fairlead"})
		}
	}
	if _, ok := static["node.id"]; !ok {
		return Broker{}, nil, fmt.Errorf("Missing required configuration \"node.id\" which has no default value.")
	}
	b, err := ResolveBroker(Layers{Static: static})
	return b, notices, err
}

// ParseProperties reads Java's properties format: NAME=VALUE lines, # and ! comments, backslash escapes and continuations.
// The last of several values of one name counts.
func ParseProperties(text string) (Values, error) {
	v := Values{}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		first := i + 1
		line := strings.TrimLeft(lines[i], " \t\f")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for continues(line) && i+1 < len(lines) {
			i++
			line = line[:len(line)-1] + strings.TrimLeft(lines[i], " \t\f")
		}
		name, value, err := property(line)
		if err != nil {
			return nil, fmt.Errorf("read properties: line %d: %w", first, err)
		}
		v[name] = value
	}
	return v, nil
}

// continues tells whether the line ends in an odd number of backslashes.
func continues(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

func property(line string) (name, value string, err error) {
	end := len(line)
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' {
			i++
			continue
		}
		if strings.IndexByte("=: \t\f", line[i]) >= 0 {
			end = i
			break
		}
	}
	rest := strings.TrimLeft(line[end:], " \t\f")
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], " \t\f")
	}
	if name, err = unescape(line[:end]); err != nil {
		return "", "", err
	}
	value, err = unescape(rest)
	return name, value, err
}

func unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			if s[i] != '\\' {
				b.WriteByte(s[i])
			}
			continue
		}
		i++
		switch s[i] {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case 'f':
			b.WriteByte('\f')
		case 'u':
			if i+5 > len(s) {
				return "", fmt.Errorf("%q ends in a short \\u escape", s)
			}
			n, err := strconv.ParseUint(s[i+1:i+5], 16, 16)
			if err != nil {
				return "", fmt.Errorf("%q has a bad \\u escape", s)
			}
			b.WriteRune(rune(n))
			i += 4
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), nil
}

// FormatProperties writes settings by name, one a line, so that ParseProperties gives them back.
func FormatProperties(v Values) string {
	var b strings.Builder
	for _, name := range v.Names() {
		b.WriteString(escape(name, " =:\\#!"))
		b.WriteByte('=')
		value := v[name]
		if strings.HasPrefix(value, " ") {
			b.WriteByte('\\')
		}
		b.WriteString(escape(value, `\`))
		b.WriteByte('\n')
	}
	return b.String()
}

func escape(s, special string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\f':
			b.WriteString(`\f`)
		case strings.IndexByte(special, c) >= 0:
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
