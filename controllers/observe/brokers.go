package observe

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/broker/adminapi"
	"github.com/fairlead-io/fairlead/controllers/desired"
	"github.com/fairlead-io/fairlead/controllers/fact"
	"github.com/fairlead-io/fairlead/controllers/plan/cluster"
)

const (
	// readinessLimit bounds the wait for one broker to say how it is. It looks at nothing but its memory for that.
	readinessLimit = 2 * time.Second
	// verdictLimit bounds the wait for a verdict, at whichever brokers.
	verdictLimit = 10 * time.Second
)

// PodEndpoint is the admin endpoint at the pod's own address, which needs no name service.
func PodEndpoint(p *corev1.Pod) string {
	if p.Status.PodIP == "" {
		return ""
	}
	return "http://" + net.JoinHostPort(p.Status.PodIP, strconv.Itoa(desired.AdminPort))
}

// readiness asks the broker of each pod.
func (o *Observer) readiness(ctx context.Context, s cluster.Snapshot) map[int32]fact.Fact[adminapi.Readiness] {
	pods := brokerPods(s)
	ids := slices.Sorted(maps.Keys(pods))
	facts := inParallel(ids, func(id int32) fact.Fact[adminapi.Readiness] { return o.ask(ctx, s.Cluster, id, pods[id]) })
	out := make(map[int32]fact.Fact[adminapi.Readiness], len(ids))
	for i, id := range ids {
		out[id] = facts[i]
	}
	return out
}

// ask asks one broker. An answer of somebody else is none: addresses of pods that have ended are given to others.
func (o *Observer) ask(ctx context.Context, c *v1alpha1.Cluster, id int32, p *corev1.Pod) fact.Fact[adminapi.Readiness] {
	url := o.endpoint(p)
	if url == "" {
		return fact.Unknown[adminapi.Readiness]("the pod has no address, or has ended")
	}
	ctx, cancel := context.WithTimeout(ctx, readinessLimit)
	defer cancel()
	r, err := o.Admin.Readiness(ctx, url)
	switch {
	case err != nil:
		return fact.Unknown[adminapi.Readiness](silence(err))
	case r.NodeID != id:
		return fact.Unknown[adminapi.Readiness](fmt.Sprintf("broker %d answers at the address of broker %d", r.NodeID, id))
	case r.ClusterID != "" && c.Status.Quorum != nil && r.ClusterID != c.Status.Quorum.ClusterID:
		return fact.Unknown[adminapi.Readiness](fmt.Sprintf("a broker of another cluster, %s, answers", r.ClusterID))
	}
	return fact.Known(r)
}

// verdicts asks for one of each broker that the plan would stop next, at the brokers that answered before.
func (o *Observer) verdicts(ctx context.Context, s cluster.Snapshot) map[int32]fact.Fact[adminapi.Verdict] {
	ids := cluster.Candidates(s)
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, verdictLimit)
	defer cancel()
	pods := brokerPods(s)
	var urls []string
	for _, id := range slices.Sorted(maps.Keys(s.Brokers)) {
		if s.Brokers[id].Known() {
			urls = append(urls, o.endpoint(pods[id]))
		}
	}
	facts := inParallel(ids, func(id int32) fact.Fact[adminapi.Verdict] {
		v, err := o.Admin.SafeToStop(ctx, urls, []int32{id})
		switch {
		case err != nil:
			return fact.Unknown[adminapi.Verdict](silence(err))
		case !slices.Equal(v.Brokers, []int32{id}):
			return fact.Unknown[adminapi.Verdict](fmt.Sprintf("the verdict is on brokers %v, asked was %d", v.Brokers, id))
		}
		return fact.Known(v)
	})
	out := make(map[int32]fact.Fact[adminapi.Verdict], len(ids))
	for i, id := range ids {
		out[id] = facts[i]
	}
	return out
}

func (o *Observer) endpoint(p *corev1.Pod) string {
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return ""
	}
	return o.Endpoint(p)
}

// brokerPods are the pods by node id.
func brokerPods(s cluster.Snapshot) map[int32]*corev1.Pod {
	out := make(map[int32]*corev1.Pod, len(s.Pods))
	for i := range s.Pods {
		if id, ok := desired.PodBroker(s.Cluster.Name, s.Pods[i].Name); ok {
			out[id] = &s.Pods[i]
		}
	}
	return out
}
