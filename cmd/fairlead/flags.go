package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/fairlead-io/fairlead/broker/config"
)

// parseFlags reads flags that stand before, between and after other arguments, which it returns.
func parseFlags(fs *flag.FlagSet, args []string, out io.Writer) ([]string, error) {
	fs.SetOutput(out)
	var rest []string
	for {
		if err := fs.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, err
			}
			return nil, usageError(err.Error())
		}
		if fs.NArg() == 0 {
			return rest, nil
		}
		rest = append(rest, fs.Arg(0))
		args = fs.Args()[1:]
	}
}

// noMore refuses arguments that nobody asked for.
func noMore(rest []string) error {
	if len(rest) > 0 {
		return usageError(fmt.Sprintf("unexpected argument %q", rest[0]))
	}
	return nil
}

// settings collects -o key=value flags.
type settings config.Values

func (s settings) String() string { return "" }

func (s settings) Set(pair string) error {
	name, value, ok := strings.Cut(pair, "=")
	if !ok || name == "" {
		return fmt.Errorf("want key=value")
	}
	s[name] = value
	return nil
}
