package controllers

import (
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/controllers/catalogue"
)

// The whole operator, at its own pace, with 3 Clusters and 500 Topics in which nothing changes: no write. FAIRLEAD_IDLE=2m looks for two
// minutes; TestC50ConvergedClustersAreQuiet and TestC50IdleTopicsAreIdle see as many passes in less time.
func TestC50ThreeClustersAndFiveHundredTopicsAreIdle(t *testing.T) {
	topics, idle := 500, 5*time.Second
	if testing.Short() {
		topics = 50
	}
	if text := os.Getenv(idleEnv); text != "" {
		var err error
		if idle, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	s := newStage(t)
	s.clusterWide()
	var mu sync.Mutex
	brokers := map[string]*memoryKafka{}
	s.operator(func(o *Options) {
		o.wait = nil
		o.Brokers.Topics = func(c *v1alpha1.Cluster) (catalogue.Brokers, error) {
			mu.Lock()
			defer mu.Unlock()
			if brokers[c.Name] == nil {
				brokers[c.Name] = newMemoryKafka()
			}
			return brokers[c.Name], nil
		}
	})
	names := []string{"a", "b", "c"}
	for _, name := range names {
		s.cluster(name, 3)
	}
	for _, name := range names {
		s.awaitReady(name)
	}
	for i := range topics {
		s.create(&v1alpha1.Topic{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: fmt.Sprint("t", i)},
			Spec: v1alpha1.TopicSpec{ClusterRef: v1alpha1.ClusterReference{Name: names[i%len(names)]}}})
	}
	awaitApplied(t, limit, s.kube, s.ns, topics)
	if n := len(s.calls.Writes()); n < topics {
		t.Errorf("%d writes were counted, for %d topics", n, topics)
	}
	s.calls.Reset()
	select {
	case <-time.After(idle):
	case <-t.Context().Done():
	}
	calls := s.calls.All()
	for _, c := range calls {
		if c.Method != http.MethodGet {
			t.Errorf("a write without a reason: %s", c)
		}
	}
	t.Logf("idle for %v: %d calls to the API server, all of them reads", idle, len(calls))
}
