package adminapi

import "testing"

func TestAStoppedProcessIsReplacedSoon(t *testing.T) {
	if got := LivenessProbe().WorstSeconds(); got != 95 {
		t.Errorf("%d s until a process that was stopped is killed, the documentation says 95", got)
	}
	if got := ReadinessProbe().WorstSeconds(); got != 11 {
		t.Errorf("%d s until a broker that does not serve is not found any more, the documentation says 11", got)
	}
}
