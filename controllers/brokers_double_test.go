package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/broker/adminapi"
	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/controllers/brokerclient"
	"github.com/fairlead-io/fairlead/controllers/desired"
	"github.com/fairlead-io/fairlead/test/kubetest"
)

// doubles stand in for the brokers of all clusters: processes that kubetest's pods run, with admin endpoints that speak adminapi's JSON
// over HTTP, and what the operator asks of Kafka. They hold one topic, "t", with a replica on each of the first three brokers.
type doubles struct {
	t      *testing.T
	kube   client.Client
	server *httptest.Server

	mu       sync.Mutex
	clusters map[types.NamespacedName]*double
}

// double is one cluster.
type double struct {
	d         *doubles
	name      types.NamespacedName
	processes map[int32]*process
	// behind are brokers that do not catch up, badImages those with which no process runs, holds what more than "t" brokers have.
	behind    map[int32]bool
	badImages map[string]bool
	holds     map[int32]int

	leader     int32 // of the quorum; -1: none
	voters     []int32
	registered map[int32]bool
	settings   map[string]string
	stops      []int32  // brokers that were stopped while they ran, in order
	violations []string // stops that took more than the cluster could spare
	looks      int      // how often the settings were asked for: once a pass
}

type process struct {
	uid       types.UID
	clusterID string
	hasRack   bool
}

func newDoubles(t *testing.T, kube client.Client) *doubles {
	d := &doubles{t: t, kube: kube, clusters: map[types.NamespacedName]*double{}}
	d.server = httptest.NewServer(http.HandlerFunc(d.serve))
	t.Cleanup(d.server.Close)
	return d
}

// brokers is the seam for the operator.
func (d *doubles) brokers() *Brokers {
	return &Brokers{
		Admin: brokerclient.NewAdmin(),
		Endpoint: func(p *corev1.Pod) string {
			id, _ := desired.PodBroker(p.Labels["app.kubernetes.io/instance"], p.Name)
			return fmt.Sprintf("%s/%s/%s/%d", d.server.URL, p.Namespace, p.Labels["app.kubernetes.io/instance"], id)
		},
		Kafka: func(c *v1alpha1.Cluster) (Kafka, error) { return d.of(c.Namespace, c.Name), nil },
		Drop:  func(string) {},
	}
}

func (d *doubles) of(namespace, name string) *double {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cluster(namespace, name)
}

// cluster runs under the lock.
func (d *doubles) cluster(namespace, name string) *double {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	c := d.clusters[key]
	if c == nil {
		c = &double{d: d, name: key, leader: -1, processes: map[int32]*process{}, behind: map[int32]bool{}, badImages: map[string]bool{},
			holds: map[int32]int{}, registered: map[int32]bool{}, settings: map[string]string{}}
		d.clusters[key] = c
	}
	return c
}

// State is how a pod's container is: the double of a kubelet asks.
func (d *doubles) State(p *corev1.Pod) kubetest.State {
	name := p.Labels["app.kubernetes.io/instance"]
	id, _ := desired.PodBroker(name, p.Name)
	files := &corev1.ConfigMap{}
	if err := d.kube.Get(context.Background(), client.ObjectKey{Namespace: p.Namespace, Name: desired.ConfigMapName(name)}, files); err != nil {
		return kubetest.State{Waiting: "ContainerCreating"}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.cluster(p.Namespace, name)
	if c.badImages[p.Spec.Containers[0].Image] {
		return kubetest.State{Waiting: "ImagePullBackOff"}
	}
	if p.Spec.Containers[0].Resources.Requests.Memory().Value() > 1<<40 {
		return kubetest.State{Unschedulable: "0/3 nodes are available: 3 Insufficient memory"}
	}
	_, racks := properties(d.t, files, "broker.properties")["broker.rack"]
	if c.processes[id] == nil || c.processes[id].uid != p.UID {
		identity := properties(d.t, files, "cluster.properties")
		for _, v := range strings.Split(identity["initial.voters"], ",") {
			if n, _, ok := strings.Cut(v, "@"); ok {
				voter, _ := strconv.Atoi(n)
				if !slices.Contains(c.voters, int32(voter)) {
					c.voters = append(c.voters, int32(voter))
				}
			}
		}
		if identity["cluster.id"] == "" {
			d.t.Errorf("%s starts with files that name no cluster: %v", p.Name, files.Data)
		}
		c.processes[id] = &process{uid: p.UID, clusterID: identity["cluster.id"]}
	}
	c.processes[id].hasRack = !racks || p.Annotations[desired.RackAnnotation] != ""
	c.elect()
	return kubetest.State{Ready: c.ready(id)}
}

// Ended is the end of a pod's process.
func (d *doubles) Ended(p *corev1.Pod) {
	name := p.Labels["app.kubernetes.io/instance"]
	id, _ := desired.PodBroker(name, p.Name)
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.cluster(p.Namespace, name)
	if c.processes[id] == nil || c.processes[id].uid != p.UID {
		return // it never ran
	}
	if v := c.verdict(id); !v.Safe && c.ready(id) {
		c.violations = append(c.violations, v.String())
	}
	c.stops = append(c.stops, id)
	delete(c.processes, id)
	if c.leader == id {
		c.leader = -1
	}
	c.elect()
}

func properties(t *testing.T, m *corev1.ConfigMap, file string) config.Values {
	v, err := config.ParseProperties(m.Data[file])
	if err != nil {
		t.Errorf("%s: %v", file, err)
	}
	return v
}

// elect makes a voter lead while a majority of them runs.
func (c *double) elect() {
	running := 0
	for _, v := range c.voters {
		if p := c.processes[v]; p != nil && p.hasRack {
			running++
		}
	}
	switch {
	case running <= len(c.voters)/2:
		c.leader = -1
	case c.leader < 0:
		for _, v := range slices.Sorted(slices.Values(c.voters)) {
			if c.leader < 0 && c.processes[v] != nil {
				c.leader = v
			}
		}
	}
	for id := range c.processes {
		c.registered[id] = c.registered[id] || c.ready(id)
	}
}

func (c *double) ready(id int32) bool {
	p := c.processes[id]
	return p != nil && p.hasRack && c.leader >= 0
}

func (c *double) inSync(id int32) bool { return c.ready(id) && !c.behind[id] }

// verdict allows a stop when all others of "t" are in sync.
func (c *double) verdict(id int32) adminapi.Verdict {
	v := adminapi.Verdict{Brokers: []int32{id}, Safe: true}
	for _, other := range c.replicas() {
		if other != id && !c.inSync(other) {
			v.Safe = false
			v.Total++
			v.Blocks = append(v.Blocks, adminapi.Block{Effect: adminapi.LosesAcks, Topic: "t", Reason: fmt.Sprintf("broker %d is not in sync", other), Clears: fmt.Sprintf("broker %d catching up", other)})
		}
	}
	return v
}

func (c *double) replicas() []int32 {
	var ids []int32
	for id := range int32(3) {
		if c.registered[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

// serve answers GET /NAMESPACE/CLUSTER/BROKER/readyz and safe-to-stop.
func (d *doubles) serve(w http.ResponseWriter, r *http.Request) {
	part := strings.Split(r.URL.Path, "/")
	if len(part) != 5 {
		http.NotFound(w, r)
		return
	}
	n, _ := strconv.Atoi(part[3])
	id := int32(n)
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.cluster(part[1], part[2])
	p := c.processes[id]
	if p == nil {
		panic(http.ErrAbortHandler) // nobody listens
	}
	switch part[4] {
	case "readyz":
		a := adminapi.Readiness{NodeID: id, ClusterID: p.clusterID, DirectoryID: "directory-" + strconv.Itoa(n), BrokerEpoch: -1, QuorumLeaderID: c.leader,
			IsQuorumLeader: c.leader == id, Phase: adminapi.Joining, Reason: "waiting for the quorum"}
		switch {
		case !p.hasRack:
			a.Phase, a.Reason = adminapi.Starting, "waiting for its rack"
		case c.ready(id):
			a.Ready, a.Phase, a.Reason, a.BrokerEpoch, a.CaughtUp = true, adminapi.Serving, "", 1, c.inSync(id)
		}
		if !a.Ready {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_ = json.NewEncoder(w).Encode(a)
	case "safe-to-stop":
		asked, _ := strconv.Atoi(r.URL.Query().Get("ids"))
		_ = json.NewEncoder(w).Encode(c.verdict(int32(asked)))
	default:
		http.NotFound(w, r)
	}
}

// do changes or reads a cluster under the lock, and has its pods looked at again.
func (c *double) do(w *kubetest.Workloads, change func(*double)) {
	c.d.mu.Lock()
	change(c)
	c.d.mu.Unlock()
	if w != nil {
		w.Look(c.name.Namespace, c.name.Name)
	}
}

func (c *double) ClusterSettings(context.Context) (map[string]string, error) {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	c.looks++
	return maps.Clone(c.settings), nil
}

func (c *double) AlterClusterSettings(_ context.Context, change brokerclient.SettingsChange) error {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	maps.Copy(c.settings, change.Set)
	for _, name := range change.Remove {
		delete(c.settings, name)
	}
	return nil
}

func (c *double) Registered(context.Context) ([]brokerclient.Broker, error) {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	var all []brokerclient.Broker
	for _, id := range slices.Sorted(maps.Keys(c.registered)) {
		if c.registered[id] {
			all = append(all, brokerclient.Broker{ID: id})
		}
	}
	return all, nil
}

func (c *double) Unregister(_ context.Context, id int32) error {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	if c.holds[id] > 0 || !c.registered[id] {
		return &brokerclient.Refusal{Code: kafka.BrokerIDNotRegistered}
	}
	c.registered[id] = false
	return nil
}

func (c *double) Voters(context.Context) ([]int32, error) {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	return slices.Sorted(slices.Values(c.voters)), nil
}

func (c *double) Topics(context.Context, ...string) (map[string]brokerclient.Topic, error) {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	t := brokerclient.Topic{Name: "t", Partitions: []brokerclient.Partition{{Leader: -1}}}
	p := &t.Partitions[0]
	p.Replicas = c.replicas()
	for _, id := range p.Replicas {
		if c.inSync(id) {
			p.ISR = append(p.ISR, id)
			p.Leader = p.ISR[0]
		}
	}
	all := map[string]brokerclient.Topic{"t": t}
	for id, n := range c.holds {
		h := brokerclient.Topic{Name: fmt.Sprintf("on-%d", id)}
		for range n {
			h.Partitions = append(h.Partitions, brokerclient.Partition{Leader: id, Replicas: []int32{id}, ISR: []int32{id}})
		}
		all[h.Name] = h
	}
	return all, nil
}

func (c *double) MinISR(_ context.Context, topics ...string) (map[string]int, error) {
	out := map[string]int{}
	for _, t := range topics {
		out[t] = 2
	}
	return out, nil
}
