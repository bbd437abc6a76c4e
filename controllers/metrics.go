package controllers

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// gauge is one of the operator's own metrics.
type gauge struct {
	name   string
	labels []string
	help   string
}

func (g gauge) desc() *prometheus.Desc { return prometheus.NewDesc(g.name, g.help, g.labels, nil) }

var (
	passAge = gauge{"fairlead_operator_cluster_pass_age_seconds", []string{"namespace", "name"},
		"Seconds since the operator last did all that was to do for the Cluster, or since it first saw it. Much more than a minute: it cannot; its log and the Cluster's conditions say why."}
	conditionSince = gauge{"fairlead_operator_cluster_condition_since_timestamp_seconds", []string{"namespace", "name", "type", "status", "reason"},
		"Since when a condition of the Cluster has its status, in seconds since the epoch. For type Ready and status False, time() minus this is how long the Cluster has been blocked."}
)

// gauges is the table of them; docs/operations/operator-metrics.md is made from it.
var gauges = []gauge{passAge, conditionSince}

// Describe is part of a collector.
func (m *memory) Describe(to chan<- *prometheus.Desc) {
	for _, g := range gauges {
		to <- g.desc()
	}
}

// Collect reads what is remembered at the time of the scrape. A Cluster that is gone has no series.
func (m *memory) Collect(to chan<- prometheus.Metric) {
	age, since := passAge.desc(), conditionSince.desc()
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, r := range m.clusters {
		to <- prometheus.MustNewConstMetric(age, prometheus.GaugeValue, m.now().Sub(r.passed).Seconds(), name.Namespace, name.Name)
		for _, c := range r.conditions {
			to <- prometheus.MustNewConstMetric(since, prometheus.GaugeValue, float64(c.LastTransitionTime.Unix()),
				name.Namespace, name.Name, c.Type, string(c.Status), c.Reason)
		}
	}
}

// whileWorking has a collector served while this operator works: one that stands by would tell that nothing is done.
func whileWorking(c prometheus.Collector) manager.RunnableFunc {
	return func(ctx context.Context) error {
		if err := metrics.Registry.Register(c); err != nil {
			return err
		}
		<-ctx.Done()
		metrics.Registry.Unregister(c)
		return nil
	}
}
