package config

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Values are settings as text by name. A map is never ranged into output: use [Values.Names].
type Values map[string]string

// Refusal is the protocol's answer to settings that cannot be.
type Refusal struct {
	Code    kafka.ErrorCode
	Message string
}

// Error makes a refusal usable where a file's settings are refused at start.
func (r *Refusal) Error() string { return r.Message }

// parsed is a value in its type. Which field holds it follows from kind.
type parsed struct {
	kind Type
	text string
	int  int64
	real float64
	flag bool
	list []string
}

func (p parsed) number() float64 {
	if p.kind == Double {
		return p.real
	}
	return float64(p.int)
}

func (p parsed) words() []string {
	if p.kind == List {
		return p.list
	}
	return []string{p.text}
}

// String is the value as DescribeConfigs shows it.
func (p parsed) String() string {
	switch p.kind {
	case Bool:
		return strconv.FormatBool(p.flag)
	case Int, Short, Long:
		return strconv.FormatInt(p.int, 10)
	case Double:
		return javaDouble(p.real)
	case List:
		return strings.Join(p.list, ",")
	}
	return p.text
}

// inMessage is the value as a refusal quotes it.
func (p parsed) inMessage() string {
	if p.kind == List {
		return "[" + strings.Join(p.list, ", ") + "]"
	}
	return p.String()
}

// Parse reads a value of the setting's type and checks its rule.
func (d *Def) parse(text string) (parsed, *Refusal) {
	p, problem := parseType(d.Type, text)
	if problem != "" {
		return p, invalid(text, d.Name, problem)
	}
	if d.Type == List && len(p.list) > 1 || d.Type == List && strings.TrimSpace(text) != "" {
		for _, s := range p.list {
			if s == "" {
				return p, &Refusal{kafka.InvalidConfig, "Configuration '" + d.Name + "' values must not be empty."}
			}
		}
	}
	if d.Valid != nil {
		if problem := d.Valid.refuse(d.Name, p); problem != "" {
			return p, invalid(quoted(d, p), d.Name, problem)
		}
	}
	return p, nil
}

// Check tells whether the text is a value of the setting.
func (d *Def) Check(text string) *Refusal {
	_, refusal := d.parse(text)
	return refusal
}

// Canonical is a value as descriptions show it: TRUE is true, 01 is 1. Text that is no value of the setting stays as it is.
func (d *Def) Canonical(text string) string {
	p, refusal := d.parse(text)
	if refusal != nil {
		return text
	}
	return p.String()
}

// quoted is the part of the value that the message names: of a list of words the first wrong one.
func quoted(d *Def, p parsed) string {
	if words, ok := d.Valid.(oneOf); ok {
		for _, s := range p.words() {
			if !words.has(s) {
				return s
			}
		}
	}
	return p.inMessage()
}

func invalid(value, name, problem string) *Refusal {
	return &Refusal{kafka.InvalidConfig, "Invalid value " + value + " for configuration " + name + ": " + problem}
}

func parseType(t Type, text string) (parsed, string) {
	p := parsed{kind: t, text: text}
	trimmed := strings.TrimSpace(text)
	switch t {
	case Bool:
		switch {
		case strings.EqualFold(trimmed, "true"):
			p.flag = true
		case !strings.EqualFold(trimmed, "false"):
			return p, "Expected value to be either true or false"
		}
	case Int, Short, Long:
		n, err := strconv.ParseInt(trimmed, 10, bits(t))
		if err != nil {
			return p, "Not a number of type " + t.String()
		}
		p.int = n
	case Double:
		f, err := strconv.ParseFloat(trimmed, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) || strings.ContainsAny(trimmed, "xX_") {
			return p, "Not a number of type DOUBLE"
		}
		p.real = f
	case List:
		if trimmed == "" {
			return p, ""
		}
		p.list = strings.Split(trimmed, ",")
		for i := range p.list {
			p.list[i] = strings.TrimSpace(p.list[i])
		}
	case String, Class:
		p.text = trimmed
	}
	return p, ""
}

func bits(t Type) int {
	switch t {
	case Int:
		return 32
	case Short:
		return 16
	}
	return 64
}

// javaDouble prints as Java's Double.toString does for the values that settings take.
func javaDouble(f float64) string {
	if a := math.Abs(f); a == 0 || 1e-3 <= a && a < 1e7 {
		s := strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	s := strings.ToUpper(strconv.FormatFloat(f, 'e', -1, 64))
	mantissa, exponent, ok := strings.Cut(s, "E")
	if !ok { // NaN, infinities
		return map[string]string{"NAN": "NaN", "+INF": "Infinity", "-INF": "-Infinity"}[s]
	}
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	n, _ := strconv.Atoi(exponent)
	return mantissa + "E" + strconv.Itoa(n)
}

// maxMs is the longest time that a Go duration holds.
const maxMs = math.MaxInt64 / int64(time.Millisecond)

// millis converts a setting in milliseconds; what is too long becomes the longest duration.
func millis(n int64) time.Duration {
	return time.Duration(max(min(n, maxMs), -maxMs)) * time.Millisecond
}
