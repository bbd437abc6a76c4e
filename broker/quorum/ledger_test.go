package quorum

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// ledger is a state machine for tests: a list of words, each given a number by the speculative state. It checks that its methods are
// called as StateMachine says.
type ledger struct {
	applied     uint64
	words       []string
	speculative []string // words decided and not applied yet; nil unless leading
	leading     bool
	suspected   []kafka.NodeID
	onApply     func(index uint64, data []byte)
}

func (l *ledger) Apply(index uint64, data []byte) error {
	if index != l.applied+1 && l.applied > 0 {
		panic(fmt.Sprintf("entry %d applied after %d", index, l.applied))
	}
	l.applied = index
	l.onApply(index, data)
	if len(data) == 0 {
		return nil
	}
	l.words = append(l.words, string(data))
	if l.leading {
		if len(l.speculative) == 0 || l.speculative[0] != string(data) {
			panic(fmt.Sprintf("leader applied %q, decided %v", data, l.speculative))
		}
		l.speculative = l.speculative[1:]
	}
	return nil
}

func (l *ledger) Snapshot() []byte {
	b := binary.AppendUvarint(nil, l.applied)
	return append(b, strings.Join(l.words, " ")...)
}

func (l *ledger) Restore(index uint64, snapshot []byte) error {
	applied, n := binary.Uvarint(snapshot)
	if applied > index || index < l.applied {
		return fmt.Errorf("snapshot of %d, taken at %d, at %d", index, applied, l.applied)
	}
	l.applied, l.words = index, nil
	if rest := string(snapshot[n:]); rest != "" {
		l.words = strings.Split(rest, " ")
	}
	return nil
}

func (l *ledger) BecomeLeader(kafka.Elapsed) {
	if l.leading {
		panic("becomes leader twice")
	}
	l.leading, l.speculative = true, nil
}

func (l *ledger) LoseLeadership() {
	if !l.leading {
		panic("loses what it has not")
	}
	l.leading, l.speculative = false, nil
}

// Decide numbers a word; "?" asks for the number of words without adding one.
func (l *ledger) Decide(cmd any, _ kafka.Elapsed) ([]byte, any) {
	if !l.leading {
		panic("decides without leading")
	}
	if s, ok := cmd.(Suspect); ok {
		l.suspected = append(l.suspected, s.Node)
		return nil, nil
	}
	word := cmd.(string)
	place := len(l.words) + len(l.speculative)
	if word == "?" {
		return nil, place
	}
	l.speculative = append(l.speculative, word)
	return []byte(word), place
}

func (l *ledger) Tick(kafka.Elapsed) []byte { return nil }
