package server

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

func TestDamageIsCountedAlwaysAndLoggedOnceAMinuteForEachPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines := 0
		d := damageReports{log: funcr.New(func(string, string) { lines++ }, funcr.Options{}), clock: newClock()}
		a, b := kafka.TopicPartition{Topic: "a"}, kafka.TopicPartition{Topic: "b"}
		step := func(p kafka.TopicPartition, wantLines int) {
			t.Helper()
			if d.report("read", p, errors.New("bad")); lines != wantLines {
				t.Errorf("%d lines logged, want %d", lines, wantLines)
			}
		}
		step(a, 1)
		step(a, 1)
		step(b, 2)
		time.Sleep(damageLogEvery) // the bubble's clock
		step(a, 3)
		if got := d.total(); got != 4 {
			t.Errorf("%v reports counted, want 4", got)
		}
	})
}
