package cluster

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/controllers/conditions"
)

func replicas(n int32) func(*v1alpha1.ClusterSpec) {
	return func(s *v1alpha1.ClusterSpec) { s.Replicas = n }
}

func TestBrokersAreAdded(t *testing.T) {
	w := converged(t, 3)
	before := w.objects.ConfigMap.ResourceVersion
	w.edit(replicas(5))
	w.run(patience)
	if len(w.pods) != 5 || len(w.restarts()) != 0 || w.c.Status.Summary != "5/5" || w.c.Status.Replicas != 5 {
		t.Error(w.summary())
	}
	if w.objects.ConfigMap.ResourceVersion != before {
		t.Error("the files of the brokers that are there changed")
	}
}

func TestC46ABrokerThatHoldsReplicasStays(t *testing.T) {
	w := converged(t, 4)
	w.edit(func(s *v1alpha1.ClusterSpec) {
		s.Replicas = 3
		s.Config = map[string]string{"log.retention.ms": "1000"}
	})
	for range 30 {
		w.step()
	}
	if w.pods[3] == nil || w.reason(conditions.Progressing) != conditions.ScaleInBlocked || w.message(conditions.Progressing) != "broker 3 holds 5 replicas" {
		t.Fatal(w.summary())
	}
	if w.settings["log.retention.ms"] != "1000" {
		t.Error("the rest of the spec is not applied")
	}

	t.Run("raising the number again clears it", func(t *testing.T) {
		w.edit(replicas(4))
		w.step()
		if w.reason(conditions.Progressing) != conditions.Converged {
			t.Error(w.summary())
		}
	})
	t.Run("an empty broker goes, is unregistered, and its volume is kept", func(t *testing.T) {
		w.edit(replicas(3))
		w.step()
		w.replicas[3] = 0
		w.run(patience)
		if w.pods[3] != nil || w.registered[3] || w.claims[3] == nil || w.did("delete pod") || w.c.Status.Replicas != 3 {
			t.Errorf("%v %s", w.log, w.summary())
		}
	})
	t.Run("it comes back over its volume", func(t *testing.T) {
		w.edit(replicas(4))
		w.run(patience)
		if w.pods[3] == nil || !w.registered[3] {
			t.Error(w.summary())
		}
	})
}

func TestC46AVoterStays(t *testing.T) {
	w := converged(t, 3)
	w.replicas[1], w.replicas[2] = 0, 0
	w.edit(replicas(1))
	for range 30 {
		w.step()
	}
	if len(w.pods) != 3 || w.message(conditions.Progressing) != "broker 1 holds a vote in the metadata quorum, broker 2 holds a vote in the metadata quorum" {
		t.Error(w.summary())
	}
}

func TestC46BrokersGoOneAtATimeFromTheTop(t *testing.T) {
	w := converged(t, 6)
	for id := int32(3); id < 6; id++ {
		w.replicas[id] = 0
	}
	w.edit(func(s *v1alpha1.ClusterSpec) { s.Replicas, s.Storage.DeletionPolicy = 5, v1alpha1.Delete })
	w.run(patience)
	if len(w.pods) != 5 || len(w.claims) != 5 || w.registered[5] {
		t.Fatal(w.summary())
	}
	// 5 founders: none of them may go.
	w.edit(replicas(4))
	for range 20 {
		w.step()
	}
	if len(w.pods) != 5 || w.reason(conditions.Progressing) != conditions.ScaleInBlocked {
		t.Error(w.summary())
	}
}

func TestC46TheHighestThatHoldsSomethingBlocksTheLower(t *testing.T) {
	w := converged(t, 3)
	w.edit(replicas(6))
	w.run(patience)
	w.replicas[4] = 7
	w.edit(replicas(3))
	for range 60 {
		w.step()
	}
	if len(w.pods) != 5 || w.message(conditions.Progressing) != "broker 4 holds 7 replicas" {
		t.Fatalf("broker 5 is empty and may go, 4 holds something: %s", w.summary())
	}
	w.replicas[4] = 0
	w.run(patience)
	if len(w.pods) != 3 || w.registered[3] || w.registered[4] || w.registered[5] {
		t.Error(w.summary())
	}
}

func TestC46UnknownIsNotEmpty(t *testing.T) {
	w := converged(t, 4)
	w.replicas[3] = 0
	w.blind = true
	w.edit(replicas(3))
	for range 30 {
		w.step()
	}
	if len(w.pods) != 4 || w.reason(conditions.Progressing) != conditions.ScaleInBlocked || !strings.Contains(w.message(conditions.Progressing), "not known: connection refused") {
		t.Error(w.summary())
	}
}

// A topic is made between the decision and the deed, or even after it.
func TestC46ABrokerThatIsGivenSomethingComesBack(t *testing.T) {
	w := converged(t, 4)
	w.replicas[3] = 0
	w.edit(replicas(3))
	for w.c.Status.Operation == nil {
		w.step()
	}
	w.replicas[3] = 1
	w.step()
	if w.did("scale StatefulSet") || w.c.Status.Operation != nil {
		t.Fatalf("%v", w.log)
	}
	w.replicas[3] = 0
	for !w.did("scale StatefulSet") {
		w.step()
	}
	w.replicas[3] = 1
	for range 10 {
		w.step()
	}
	if w.pods[3] == nil || !w.registered[3] {
		t.Errorf("%v %s", w.log, w.summary())
	}
}

// The founders are all made, whatever becomes of spec.replicas in the meantime.
func TestAllFoundersAreMade(t *testing.T) {
	w := newWorld(t, 5)
	w.step()
	w.edit(replicas(3))
	for range 30 {
		w.step()
	}
	if len(w.pods) != 5 || !w.c.Status.Quorum.Formed || w.reason(conditions.Progressing) != conditions.ScaleInBlocked {
		t.Error(w.summary())
	}
}

// All brokers fail right after one was taken away, before it could be unregistered.
func TestABrokenPodIsNotLeftForABrokerThatGoes(t *testing.T) {
	w := converged(t, 4)
	w.replicas[3] = 0
	w.edit(replicas(3))
	for !w.did("scale StatefulSet") {
		w.step()
	}
	for _, p := range w.pods {
		p.state = "CrashLoopBackOff"
	}
	w.edit(image("fairlead:2"))
	w.run(patience)
	if len(w.pods) != 3 || w.registered[3] {
		t.Error(w.summary())
	}
}

// The node of a broker is lost when the broker is taken away.
func TestABrokerThatGoesWithItsNodeHoldsUpNoRoll(t *testing.T) {
	w := converged(t, 4)
	w.replicas[3] = 0
	w.edit(replicas(3))
	w.lost[3] = true
	for !w.did("scale StatefulSet") {
		w.step()
	}
	for range 5 {
		w.step()
	}
	if got := w.message(conditions.Progressing); !strings.Contains(got, "broker 3 stops: node node-3 is not ready since") {
		t.Errorf("%s", got)
	}
	w.edit(image("fairlead:2"))
	for range patience {
		w.step()
	}
	if got := strings.Join(w.restarts(), " "); got != "a-1 a-2 a-0" {
		t.Errorf("restarted %s: %s", got, w.summary())
	}
	if w.reason(conditions.Progressing) != conditions.ScalingIn {
		t.Error(w.summary())
	}
	delete(w.lost, 3)
	w.step()
	w.run(patience)
	if w.registered[3] || len(w.pods) != 3 {
		t.Error(w.summary())
	}
}

func TestABrokerThatIsToGoIsNotRestartedFirst(t *testing.T) {
	w := converged(t, 4)
	w.replicas[3] = 0
	w.edit(func(s *v1alpha1.ClusterSpec) { s.Replicas, s.Image = 3, "fairlead:2" })
	w.run(patience)
	if got := strings.Join(w.restarts(), " "); got != "a-1 a-2 a-0" {
		t.Errorf("restarted %s", got)
	}
}

func TestNumbersOfBrokersThatAreNotOursAreLeftAlone(t *testing.T) {
	w := converged(t, 3)
	w.registered[5000], w.replicas[5000] = true, 3
	for range 5 {
		w.step()
	}
	if len(w.log) != 0 || len(w.c.Status.Brokers) != 3 {
		t.Errorf("%v", w.log)
	}
}
