package server

import (
	"errors"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metactl"
)

func TestLogEndsBeyondOneReportComeInMore(t *testing.T) {
	ends := make([]metactl.LogEnd, 2*maxLogEnds+1)
	for i := range ends {
		ends[i].EndOffset = kafka.Offset(i)
	}
	var sizes []int
	next := kafka.Offset(0)
	inReports(ends, func(report []metactl.LogEnd) error {
		sizes = append(sizes, len(report))
		for _, e := range report {
			if e.EndOffset != next {
				t.Fatalf("end %d comes when %d is due", e.EndOffset, next)
			}
			next++
		}
		return nil
	})
	if len(sizes) != 3 || sizes[2] != 1 || int(next) != len(ends) {
		t.Errorf("reports of %v, %d of %d ends", sizes, next, len(ends))
	}
	sent := 0
	inReports(ends, func([]metactl.LogEnd) error {
		sent++
		return errors.New("nobody leads")
	})
	if sent != 1 {
		t.Errorf("%d reports after a failure, want 1", sent)
	}
}
