package brokerfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/broker/config"
)

// maxReferenced bounds what a reference to a file may give.
const maxReferenced = 64 << 10

// File is a broker's file as it is now.
type File struct {
	Static  config.Values // with references replaced
	Broker  config.Broker // the same, resolved
	Notices []config.Notice
	Pending []string // files that are referred to and empty, in order
}

// Error says what is wrong with a broker's file.
type Error struct {
	Path string
	Err  error // names the setting and why
}

func (e *Error) Error() string { return e.Path + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Read reads and checks a broker's file. env looks a variable up. defaults are settings that count where the file is silent.
func Read(path string, env func(string) (string, bool), defaults config.Values) (File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return File{}, fmt.Errorf("read settings: %w", err)
	}
	f, err := parse(string(text), env, defaults)
	if err != nil {
		return File{}, &Error{path, err}
	}
	return f, nil
}

func parse(text string, env func(string) (string, bool), defaults config.Values) (f File, err error) {
	own, err := config.ParseProperties(text)
	if err != nil {
		return f, err
	}
	static := defaults.Clone()
	for name, value := range own {
		static[name] = value
	}
	f.Static, err = config.Expand(static, func(provider, key string) (string, error) {
		switch provider {
		case "env":
			value, set := env(key)
			if !set {
				return "", fmt.Errorf("environment variable %s is not set", key)
			}
			return value, nil
		case "file":
			value, err := readValue(key)
			if err == nil && value == "" && !slices.Contains(f.Pending, key) {
				f.Pending = append(f.Pending, key)
			}
			return value, err
		}
		return "", fmt.Errorf("no provider %q: want env or file", provider)
	})
	if err != nil {
		return f, err
	}
	f.Broker, f.Notices, err = config.ParseBroker(f.Static)
	return f, err
}

func readValue(path string) (string, error) {
	r, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxReferenced+1))
	if err == nil && len(data) > maxReferenced {
		err = errors.New("more than 64 KiB")
	}
	return strings.TrimSpace(string(data)), err
}
