package sim

import "testing"

// TestOneOfTwoMayLoseItsTail: with min.insync.replicas=2, what is committed may be on two replicas only. When both lose their ends while the
// third is not heard of, it is gone, whatever the controller does.
func TestOneOfTwoMayLoseItsTail(t *testing.T) {
	r := runScenario(DefaultOptions(1), scenario{play: func(s *stage) {
		expect := func(when string, want bool, hosts ...int) {
			for _, n := range hosts {
				if got := s.expendable(s.hosts[n]); got != want {
					s.fail("%s: broker %d is expendable: %v, want %v", when, n, got, want)
				}
			}
		}
		expect("all are in sync", true, 3, 4, 5)
		s.cut(5)
		s.vanish(4)
		expect("one lost its end, and the ISR has it still", false, 3, 5)
		s.until("the ISR shrinks", func() bool { return s.inSync(3) })
		s.uncut(5)
		s.until("the ISR grows", func() bool { return s.inSync(3, 5) })
		expect("the one that lost its end is out", true, 3, 5)
		s.start(4)
		s.until("the ISR is full", func() bool { return s.inSync(3, 4, 5) })
		expect("all are in sync again", true, 3, 4, 5)
	}})
	if r.Failure != "" {
		t.Error(r.Failure)
	}
}
