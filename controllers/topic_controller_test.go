package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/controllers/brokerclient"
	"github.com/fairlead-io/fairlead/controllers/conditions"
)

// topicBubble runs a test in a bubble, where hours pass at once.
func topicBubble(t *testing.T, test func(*testing.T, *topicWorld)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newTopicWorld(t)) })
}

func keyOf(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "ns", Name: name}
}

func number(n int32) *int32 { return &n }

func TestATopicIsReadyInOnePass(t *testing.T) {
	topicBubble(t, func(t *testing.T, w *topicWorld) {
		w.topic("a", func(s *v1alpha1.TopicSpec) {
			s.Partitions, s.Config = number(3), map[string]string{"retention.ms": "5"}
		})
		w.pass(time.Second)
		w.expectReady("created", "a", "True Applied")
		if st := w.get("a").Status; st.Partitions != 3 || st.TopicID == "" || st.TopicName != "a" || len(st.Conditions) != 2 {
			t.Errorf("%+v", st)
		}
		w.edit("a", func(s *v1alpha1.TopicSpec) { s.Partitions, s.Config = number(5), nil })
		w.pass(time.Second)
		w.expectReady("changed", "a", "True Applied")
		if k := w.kafka; len(k.topics["a"].Partitions) != 5 || len(k.settings["a"]) != 0 {
			t.Errorf("%+v %v", k.topics["a"], k.settings["a"])
		}
		w.edit("a", func(s *v1alpha1.TopicSpec) { s.ReplicationFactor = number(3) })
		w.pass(time.Second)
		w.expectReady("with more replicas", "a", "True Applied")
		if st := w.get("a").Status; st.ReplicationFactor != 3 {
			t.Errorf("%+v", st)
		}
		if n := w.passes[keyOf("a")]; n != 3 {
			t.Errorf("%d passes for three specs", n)
		}
	})
}

func TestC50IdleTopicsAreIdle(t *testing.T) {
	topicBubble(t, func(t *testing.T, w *topicWorld) {
		const topics = 8
		for i := range topics {
			w.topic(fmt.Sprint("t", i))
		}
		w.pass(2 * time.Minute)
		w.takeWrites()
		w.kafka.all()
		clear(w.passes)
		w.pass(time.Hour)
		if writes := w.takeWrites(); len(writes) > 0 {
			t.Errorf("%d writes to the API, first %s", len(writes), writes[0])
		}
		requests := w.kafka.all()
		if n := requests["topics"]; n < 60 || n > 125 {
			t.Errorf("%d looks at all topics in an hour, want one or two a minute: %v", n, requests)
		}
		if n := requests["create"] + requests["alter"] + requests["grow"] + requests["delete"]; n != 0 {
			t.Errorf("changes: %v", requests)
		}
		if n := w.passes[keyOf("t0")]; n < 60 || n > 81 {
			t.Errorf("%d passes over one topic in an hour", n)
		}
	})
}

func TestC44SteadyFailureIsQuiet(t *testing.T) {
	for what, r := range map[string]struct {
		wrong, right func(*v1alpha1.TopicSpec)
		ready        string
	}{
		"fewer partitions": {
			func(s *v1alpha1.TopicSpec) { s.Partitions = number(1) },
			func(s *v1alpha1.TopicSpec) { s.Partitions = number(3) }, "False CannotShrink"},
		"a wrong setting": {
			func(s *v1alpha1.TopicSpec) {
				s.Config = map[string]string{"min.insync.replicas": "x"}
				s.Partitions = number(4)
			},
			func(s *v1alpha1.TopicSpec) { s.Config = nil; s.Partitions = number(3) }, "False ConfigInvalid"},
		"too many replicas": {
			func(s *v1alpha1.TopicSpec) { s.ReplicationFactor = number(4) },
			func(s *v1alpha1.TopicSpec) { s.ReplicationFactor = nil }, "False NotEnoughBrokers"},
	} {
		t.Run(what, func(t *testing.T) {
			topicBubble(t, func(t *testing.T, w *topicWorld) {
				w.topic("a", func(s *v1alpha1.TopicSpec) { s.Partitions = number(3) })
				w.pass(time.Minute)
				w.edit("a", r.wrong)
				w.pass(time.Minute)
				w.expectReady("wrong", "a", r.ready)
				w.takeWrites()
				w.kafka.all()
				clear(w.passes)
				for range 6 {
					w.pass(5 * time.Minute)
					w.expectReady("stays", "a", r.ready)
				}
				if writes := w.takeWrites(); len(writes) > 0 {
					t.Errorf("%d writes to the API, first %s", len(writes), writes[0])
				}
				const most = 30 * 60 / 10 // one in ten seconds
				if n := w.passes[keyOf("a")]; n > most {
					t.Errorf("%d passes", n)
				}
				for kind, n := range w.kafka.all() {
					if n > most {
						t.Errorf("%d requests: %s", n, kind)
					}
				}
				if n := len(w.kafka.topics["a"].Partitions); n != 3 {
					t.Errorf("%d partitions: a part of the spec was applied", n)
				}
				w.edit("a", r.right)
				w.pass(time.Millisecond)
				w.expectReady("right again, in one pass", "a", "True Applied")
			})
		})
	}
}

func TestATopicThatWasChangedByHandIsPutRight(t *testing.T) {
	topicBubble(t, func(t *testing.T, w *topicWorld) {
		w.topic("a", func(s *v1alpha1.TopicSpec) { s.Config = map[string]string{"retention.ms": "5"} })
		w.pass(time.Minute)
		w.kafka.set(func() { w.kafka.settings["a"] = map[string]string{"retention.ms": "6", "segment.ms": "7"} })
		w.pass(2 * time.Minute)
		if got := w.kafka.settings["a"]; !maps.Equal(got, map[string]string{"retention.ms": "5", "segment.ms": "7"}) {
			t.Errorf("settings %v", got)
		}
		old := w.get("a").Status.TopicID
		w.kafka.set(func() { delete(w.kafka.topics, "a"); delete(w.kafka.settings, "a") })
		w.pass(2 * time.Minute)
		w.expectReady("made again", "a", "True Applied")
		if is := w.get("a").Status.TopicID; is == old || is == "" {
			t.Errorf("id %s, was %s", is, old)
		}
		w.kafka.set(func() {
			topic := w.kafka.topics["a"]
			topic.ID = kafka.TopicID{99}
			w.kafka.topics["a"] = topic
		})
		w.pass(2 * time.Minute)
		var reasons []string
		for _, line := range w.told {
			_, rest, _ := strings.Cut(line, " ")
			reason, _, _ := strings.Cut(rest, ":")
			reasons = append(reasons, reason)
		}
		if want := []string{"TopicCorrected", "TopicRecreated", "TopicReplaced"}; !slices.Equal(reasons, want) {
			t.Errorf("events %q, want %q", reasons, want)
		}
	})
}

func TestATopicThatExistedIsAdoptedOnce(t *testing.T) {
	topicBubble(t, func(t *testing.T, w *topicWorld) {
		if _, err := w.kafka.CreateTopics(t.Context(), []brokerclient.NewTopic{{Name: "a", Partitions: 2}}); err != nil {
			t.Fatal(err)
		}
		w.topic("a", func(s *v1alpha1.TopicSpec) { s.Partitions = number(3) })
		w.topic("b")
		w.pass(time.Minute)
		if st := w.get("a").Status; len(st.Conditions) != 3 || conditions.Get(st.Conditions, conditions.Adopted) == nil || st.Partitions != 3 {
			t.Errorf("%+v", st)
		}
		if st := w.get("b").Status; len(st.Conditions) != 2 {
			t.Errorf("a topic that was created is adopted: %+v", st)
		}
	})
}

func deletable(s *v1alpha1.TopicSpec) { s.DeletionPolicy = v1alpha1.Delete }

func TestC43ATopicIsDeletedWithItsObjectWhenThePolicySaysSo(t *testing.T) {
	topicBubble(t, func(t *testing.T, w *topicWorld) {
		w.topic("kept")
		w.topic("doomed", deletable)
		w.topic("lost", deletable)
		w.pass(time.Minute)
		w.kafka.set(func() { delete(w.kafka.topics, "lost") })
		for _, name := range []string{"kept", "doomed", "lost"} {
			w.remove(name)
		}
		w.pass(10 * time.Second)
		for _, name := range []string{"kept", "doomed", "lost"} {
			if !w.gone(name) {
				t.Errorf("%s is there: %+v", name, w.get(name))
			}
		}
		if len(w.kafka.topics) != 1 || w.kafka.topics["kept"].Name == "" {
			t.Errorf("topics %v", w.kafka.topics)
		}
		if len(w.topics.memory.topics) != 0 {
			t.Errorf("remembered: %v", w.topics.memory.topics)
		}
	})
}

func TestC43BrokersThatAreAwayKeepTheTopicUntilTheyAreBack(t *testing.T) {
	topicBubble(t, func(t *testing.T, w *topicWorld) {
		w.topic("a", deletable)
		w.pass(time.Minute)
		w.kafka.set(func() { w.kafka.down = true })
		w.pass(2 * time.Minute)
		w.expectReady("away", "a", "Unknown ClusterNotReady")
		w.remove("a")
		w.pass(2 * time.Minute)
		w.expectReady("deleted meanwhile", "a", "Unknown ClusterNotReady")
		w.takeWrites()
		w.kafka.all()
		clear(w.passes)
		w.pass(time.Hour)
		if writes := w.takeWrites(); len(writes) > 0 {
			t.Errorf("%d writes to the API, first %s", len(writes), writes[0])
		}
		if n := w.passes[keyOf("a")]; n > 360 {
			t.Errorf("%d passes in an hour", n)
		}
		if requests := w.kafka.all(); requests["topics"] > 360 {
			t.Errorf("requests in an hour: %v", requests)
		}
		w.kafka.set(func() { w.kafka.down = false })
		w.pass(2 * time.Minute)
		if !w.gone("a") || len(w.kafka.topics) != 0 {
			t.Errorf("back: %+v, topics %v", w.get("a"), w.kafka.topics)
		}
	})
}

func TestC43AClusterThatGoesLetsItsTopicsGo(t *testing.T) {
	topicBubble(t, func(t *testing.T, w *topicWorld) {
		w.topic("a", deletable)
		w.topic("b", deletable)
		w.pass(time.Minute)
		w.kafka.set(func() { w.kafka.down = true })
		w.kafka.all()
		w.remove("a")
		w.cluster.Finalizers = []string{"x"}
		if err := w.api.Update(t.Context(), w.cluster); err != nil {
			t.Fatal(err)
		}
		if err := w.api.Delete(t.Context(), w.cluster); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Second)
		if !w.gone("a") {
			t.Errorf("while the Cluster is being deleted: %+v", w.get("a"))
		}
		if err := w.api.Get(t.Context(), client.ObjectKeyFromObject(w.cluster), w.cluster); err != nil {
			t.Fatal(err)
		}
		w.cluster.Finalizers = nil
		if err := w.api.Update(t.Context(), w.cluster); err != nil {
			t.Fatal(err)
		}
		w.remove("b")
		w.pass(time.Second)
		if !w.gone("b") {
			t.Errorf("when the Cluster is gone: %+v", w.get("b"))
		}
		if requests := w.kafka.all(); len(requests) != 0 {
			t.Errorf("asked: %v", requests)
		}
	})
}

func TestC43AClusterThatDoesNotDeleteTopicsIsNotAskedAllTheTime(t *testing.T) {
	topicBubble(t, func(t *testing.T, w *topicWorld) {
		w.kafka.noDelete = true
		w.topic("a", deletable)
		w.pass(time.Minute)
		w.remove("a")
		w.pass(time.Minute)
		w.expectReady("refused", "a", "False DeletionRefused")
		w.takeWrites()
		w.kafka.all()
		w.pass(time.Hour)
		if writes := w.takeWrites(); len(writes) > 0 {
			t.Errorf("%d writes to the API, first %s", len(writes), writes[0])
		}
		if n := w.kafka.all()["delete"]; n < 60 || n > 120 {
			t.Errorf("asked %d times in an hour", n)
		}
		w.edit("a", func(s *v1alpha1.TopicSpec) { s.DeletionPolicy = v1alpha1.Retain })
		w.pass(time.Second)
		if !w.gone("a") || len(w.kafka.topics) != 1 {
			t.Errorf("kept after all: topics %v", w.kafka.topics)
		}
	})
}

// The operator goes away at any moment: a new one goes on with what it finds.
func TestC43ANewOperatorGoesOn(t *testing.T) {
	topicBubble(t, func(t *testing.T, w *topicWorld) {
		w.topic("a", deletable)
		w.topic("b", func(s *v1alpha1.TopicSpec) { s.Config = map[string]string{"retention.ms": "x"} })
		w.pass(time.Minute)
		w.remove("a")
		w.start()
		w.takeWrites()
		w.pass(time.Minute)
		if !w.gone("a") || len(w.kafka.topics) != 0 {
			t.Errorf("topics %v", w.kafka.topics)
		}
		w.expectReady("still wrong", "b", "False ConfigInvalid")
		if writes := w.takeWrites(); len(writes) != 1 { // the finalizer of a
			t.Errorf("writes %q", writes)
		}
	})
}

// What was written meanwhile makes the pass begin again, and nothing is overwritten.
func TestAPassFromAnOldViewWritesNothing(t *testing.T) {
	topicBubble(t, func(t *testing.T, w *topicWorld) {
		w.topic("a")
		old := w.get("a")
		w.pass(time.Second)
		want := w.get("a").Status
		old.Status.Partitions = 77
		if err := w.topics.report(context.Background(), old, v1alpha1.TopicStatus{TopicName: "old"}); err == nil {
			t.Error("written")
		} else if res, err := again(err); err != nil || res.RequeueAfter == 0 {
			t.Errorf("%v %v", res, err)
		}
		if got := w.get("a").Status; got.TopicName != want.TopicName || got.Partitions != want.Partitions {
			t.Errorf("%+v", got)
		}
	})
}

func TestC41OfTwoTopicsForOneTheYoungerFollowsWhenTheOlderGoes(t *testing.T) {
	topicBubble(t, func(t *testing.T, w *topicWorld) {
		w.topic("older", func(s *v1alpha1.TopicSpec) { s.TopicName = "x" })
		time.Sleep(2 * time.Second)
		w.topic("younger", func(s *v1alpha1.TopicSpec) { s.TopicName, s.Config = "x", map[string]string{"retention.ms": "5"} })
		w.pass(time.Minute)
		w.expectReady("older", "older", "True Applied")
		w.expectReady("younger", "younger", "False Conflict")
		if len(w.kafka.settings["x"]) != 0 {
			t.Errorf("settings %v", w.kafka.settings["x"])
		}
		w.edit("older", deletable)
		w.pass(time.Second)
		w.remove("older")
		w.pass(time.Minute)
		w.expectReady("alone", "younger", "True Applied")
		if !w.gone("older") || w.kafka.settings["x"]["retention.ms"] != "5" || w.kafka.topics["x"].ID != (kafka.TopicID{1}) {
			t.Errorf("the topic stays, as the heir wants it: %+v", w.kafka.topics["x"])
		}
	})
}
