package controllers

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/controllers/catalogue"
	"github.com/fairlead-io/fairlead/controllers/plan/topic"
)

// The indexes of Topics in the cache.
const (
	topicsByCluster = "cluster"       // the name of the Cluster
	topicsByTopic   = "cluster/topic" // and the name of the topic
)

func topicKey(t *v1alpha1.Topic) string { return t.Spec.ClusterRef.Name + "/" + topic.Name(t) }

// observe gathers what a plan for a Topic is made from, and the catalogue of its cluster, nil when that is not to be asked.
func (r *topicReconciler) observe(ctx context.Context, t *v1alpha1.Topic, m remembrance) (topic.Snapshot, *catalogue.Cluster, error) {
	s := topic.Snapshot{Now: r.now(), Topic: t, Last: m.last}
	c := &v1alpha1.Cluster{}
	switch err := r.read.Get(ctx, client.ObjectKey{Namespace: t.Namespace, Name: t.Spec.ClusterRef.Name}, c); {
	case err == nil:
		s.Cluster = c
	case !apierrors.IsNotFound(err):
		return s, nil, fmt.Errorf("read cluster %s/%s: %w", t.Namespace, t.Spec.ClusterRef.Name, err)
	}
	var same v1alpha1.TopicList
	if err := r.read.List(ctx, &same, client.InNamespace(t.Namespace), client.MatchingFields{topicsByTopic: topicKey(t)}); err != nil {
		return s, nil, fmt.Errorf("list topics of %s: %w", topicKey(t), err)
	}
	for _, o := range same.Items {
		if o.UID != t.UID {
			s.Rivals = append(s.Rivals, o)
		}
	}
	if !topic.Asks(s) {
		return s, nil, nil
	}
	cluster := r.catalogue(c)
	r.look(ctx, cluster, &s, m)
	return s, cluster, nil
}

// look fills in what the cluster has: as it was at most a while ago, or, after something was begun, as it is since.
func (r *topicReconciler) look(ctx context.Context, cluster *catalogue.Cluster, s *topic.Snapshot, m remembrance) {
	from := r.now().Add(-catalogue.MaxAge)
	if m.from.After(from) {
		from = m.from
	}
	a := cluster.Look(ctx, topic.Name(s.Topic), from)
	s.Now, s.Found, s.Brokers, s.HeardAt = r.now(), a.Found, a.Brokers, a.HeardAt
	if !s.Found.Known() {
		log.FromContext(ctx).V(1).Info("the cluster does not tell of the topic", "why", s.Found.Why())
	}
}

// catalogue is the one of a Cluster.
func (r *topicReconciler) catalogue(c *v1alpha1.Cluster) *catalogue.Cluster {
	key, uid := client.ObjectKeyFromObject(c), c.UID
	return r.catalogues.Of(string(uid), func() catalogue.Options {
		return catalogue.Options{
			Brokers:   func() (catalogue.Brokers, error) { return r.reach(key, uid) },
			Managed:   func() []string { return r.managed(key) },
			Recovered: func() { r.wake.topics(key) },
		}
	})
}

// reach gives the client of a Cluster by the address that it has now.
func (r *topicReconciler) reach(key types.NamespacedName, uid types.UID) (catalogue.Brokers, error) {
	c := &v1alpha1.Cluster{}
	if err := r.read.Get(context.Background(), key, c); err != nil { // of the cache: it does not wait
		return nil, err
	}
	if c.UID != uid {
		return nil, fmt.Errorf("cluster %s is another one by now", key)
	}
	return r.brokers(c)
}

// managed lists the names of the topics that a Cluster's Topics are about.
func (r *topicReconciler) managed(key types.NamespacedName) []string {
	var all v1alpha1.TopicList
	if err := r.read.List(context.Background(), &all, client.InNamespace(key.Namespace), client.MatchingFields{topicsByCluster: key.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return nil // the cache has no such index: each Topic asks for itself
	}
	names := make([]string, 0, len(all.Items))
	for i := range all.Items {
		names = append(names, topic.Name(&all.Items[i]))
	}
	return names
}
