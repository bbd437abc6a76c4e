package controllers

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// memory is what the operator keeps of Clusters between two passes: nothing that a decision needs to be right, only what went wrong last,
// which the next plan reports, and what metrics tell.
type memory struct {
	now func() time.Time

	mu       sync.Mutex
	clusters map[types.NamespacedName]remembered
}

type remembered struct {
	uid types.UID
	// failures are those of the last plan; none when it was carried out whole.
	failures []string
	// passed is when a pass was last carried out whole; before the first one, when the Cluster was first seen.
	passed     time.Time
	conditions []metav1.Condition
}

func newMemory(now func() time.Time) *memory {
	return &memory{now: now, clusters: map[types.NamespacedName]remembered{}}
}

// begin gives the failures of the Cluster's last plan. If another Cluster had the name before, replaced is its UID.
func (m *memory) begin(name types.NamespacedName, uid types.UID) (failures []string, replaced types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, known := m.clusters[name]
	if known && r.uid == uid {
		return r.failures, ""
	}
	m.clusters[name] = remembered{uid: uid, passed: m.now()}
	return nil, r.uid
}

// fail keeps what went wrong with the actions of a plan; nil forgets what was kept.
func (m *memory) fail(name types.NamespacedName, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.clusters[name]
	r.failures = nil
	if err != nil {
		r.failures = []string{err.Error()}
	}
	m.clusters[name] = r
}

// pass marks a pass that was carried out whole.
func (m *memory) pass(name types.NamespacedName, conditions []metav1.Condition) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.clusters[name]
	r.passed, r.conditions = m.now(), conditions
	m.clusters[name] = r
}

// forget drops a Cluster that is gone and gives its UID, if there was one.
func (m *memory) forget(name types.NamespacedName) types.UID {
	m.mu.Lock()
	defer m.mu.Unlock()
	uid := m.clusters[name].uid
	delete(m.clusters, name)
	return uid
}
