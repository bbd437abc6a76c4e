package metactl

import "testing"

func TestRegisterCreateFenceElect(t *testing.T) {
	w := newWorld(t, Options{})
	w.start(3)
	if r := w.create(newTopic("t", 3, 3)); r.Topics[0].ErrorCode != 0 {
		t.Fatalf("%+v", r)
	}
	w.commit(w.c.Suspect(1, -1, w.now))
	for n, p := range w.image().TopicByName("t").Partitions() {
		t.Log(n, describePartition(p))
		if p.Leader == 1 || p.InISR(1) || len(p.ISR) != 2 {
			t.Errorf("partition %d after broker 1 died: %s", n, describePartition(p))
		}
	}
	w.checkReplay()
}
