package desired

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/broker/config"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// minimal is a Cluster with nothing but a size, before its quorum was formed.
func minimal() Cluster {
	return Cluster{
		Cluster: &v1alpha1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Name: "events", Namespace: "shop", UID: "6b0c"},
			Spec:       v1alpha1.ClusterSpec{Replicas: 3, Storage: v1alpha1.Storage{Size: resource.MustParse("10Gi")}},
		},
		Image: "registry.example/fairlead:1.0",
		Quorum: v1alpha1.Quorum{ClusterID: "AAAAAAAAAAAAAAAAAAAAAQ", Brokers: 3, MinInSyncReplicas: "2", Voters: []v1alpha1.Voter{
			{ID: 0, DirectoryID: "AAAAAAAAAAAAAAAAAAAAEA"}, {ID: 1, DirectoryID: "AAAAAAAAAAAAAAAAAAAAEQ"}, {ID: 2, DirectoryID: "AAAAAAAAAAAAAAAAAAAAEg"}}},
		LiveSettings: []string{"min.insync.replicas"},
		Replicas:     3,
		ClaimSize:    resource.MustParse("10Gi"),
	}
}

// full is a Cluster that uses everything, with a formed quorum.
func full() Cluster {
	c := minimal()
	fast := "fast"
	c.Spec = v1alpha1.ClusterSpec{
		Replicas: 4,
		Storage:  v1alpha1.Storage{Size: resource.MustParse("1Ti"), StorageClassName: &fast, DeletionPolicy: v1alpha1.Delete},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.5"), corev1.ResourceMemory: resource.MustParse("1024Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")},
		},
		Listeners: []v1alpha1.Listener{{Name: "plain", Port: 9092}, {Name: "batch", Port: 9192}},
		Rack:      &v1alpha1.Rack{NodeLabel: "topology.kubernetes.io/zone"},
		PodTemplate: v1alpha1.PodTemplate{
			Labels:                        map[string]string{"team": "shop"},
			Annotations:                   map[string]string{"example.com/scrape": "true"},
			NodeSelector:                  map[string]string{"disk": "nvme"},
			Tolerations:                   []corev1.Toleration{{Key: "storage", Operator: corev1.TolerationOpExists}},
			PriorityClassName:             "high",
			ImagePullSecrets:              []corev1.LocalObjectReference{{Name: "registry"}},
			ImagePullPolicy:               corev1.PullIfNotPresent,
			TerminationGracePeriodSeconds: 300,
			TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: "topology.kubernetes.io/zone", WhenUnsatisfiable: corev1.DoNotSchedule,
				LabelSelector: &metav1.LabelSelector{MatchLabels: Selector("events")},
			}},
		},
	}
	c.Settings = config.Values{"log.retention.ms": "86400000", "default.replication.factor": "2", "num.io.threads": "8"}
	c.Quorum.Formed = true
	c.Replicas, c.ClaimSize = 4, c.Spec.Storage.Size
	c.LiveSettings = []string{"log.retention.ms", "min.insync.replicas"}
	return c
}

func TestObjects(t *testing.T) {
	for _, r := range []struct {
		name string
		c    Cluster
	}{{"minimal", minimal()}, {"full", full()}} {
		for _, o := range r.c.Objects() {
			got, err := yaml.Marshal(pruned(o))
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", r.name, strings.ToLower(o.GetObjectKind().GroupVersionKind().Kind)+"-"+o.GetName()+".yaml")
			if *rewrite {
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(want) {
				t.Errorf("%s differs:\n%s", file, got)
			}
		}
	}
}

// A broker starts with what the ConfigMap says.
func TestTheFileIsAValidBrokersFile(t *testing.T) {
	for _, c := range []Cluster{minimal(), full()} {
		static, err := FileSettings(c.ConfigMap())
		if err != nil {
			t.Fatal(err)
		}
		static, err = config.Expand(static, func(_, key string) (string, error) {
			return map[string]string{"NODE_ID": "2", "POD_NAME": "events-2", "/etc/podinfo/rack": "zone-a"}[key], nil
		})
		if err != nil {
			t.Fatal(err)
		}
		b, notices, err := config.ParseBroker(static)
		if err != nil {
			t.Fatal(err)
		}
		if b.NodeID != 2 || b.Network.Internal != "CONTROLLER" || len(b.Quorum.Voters) != 3 || b.Quorum.Voters[1].Host != "events-1.events-brokers.shop.svc" {
			t.Errorf("%+v", b)
		}
		for _, a := range b.Network.Advertised {
			if a.Host != "events-2.events-brokers.shop.svc" {
				t.Errorf("%s is advertised at %s", a.Name, a.Host)
			}
		}
		for _, n := range notices {
			if strings.Contains(n.Message, "unknown") {
				t.Errorf("the operator writes %s, which no broker knows", n.Name)
			}
		}
		for name := range UserSettings(static) {
			if _, user := c.Settings[name]; !user && defaults(3)[name] == "" {
				t.Errorf("%s counts as the user's", name)
			}
		}
	}
}

func TestDefaultsAreForTheNumberOfFounders(t *testing.T) {
	for _, r := range []struct {
		brokers          int32
		replicas, inSync string
	}{{1, "1", "1"}, {2, "2", "1"}, {3, "3", "2"}, {5, "3", "2"}} {
		c := minimal()
		c.Quorum.Brokers, c.Quorum.MinInSyncReplicas = r.brokers, ""
		v := c.BrokerSettings()
		if v["default.replication.factor"] != r.replicas || v["offsets.topic.replication.factor"] != r.replicas || v["min.insync.replicas"] != r.inSync {
			t.Errorf("founded by %d: %v", r.brokers, v)
		}
	}
}

func TestC50OnlyWhatMattersToTheProcessRestartsIt(t *testing.T) {
	for _, r := range []struct {
		what     string
		change   func(c *Cluster)
		restarts bool
	}{
		{"nothing", func(*Cluster) {}, false},
		{"an annotation on the Cluster", func(c *Cluster) { c.Annotations = map[string]string{"a": "b"} }, false},
		{"a label on the Cluster", func(c *Cluster) { c.Labels = map[string]string{"a": "b"} }, false},
		{"another number of brokers", func(c *Cluster) { c.Replicas, c.Spec.Replicas = 7, 7 }, false},
		{"larger volumes", func(c *Cluster) {
			c.Spec.Storage.Size, c.ClaimSize = resource.MustParse("2Ti"), resource.MustParse("2Ti")
		}, false},
		{"another deletion policy", func(c *Cluster) { c.Spec.Storage.DeletionPolicy = v1alpha1.Retain }, false},
		{"a label for pods", func(c *Cluster) { c.Spec.PodTemplate.Labels = map[string]string{"team": "other"} }, false},
		{"an annotation for pods", func(c *Cluster) { c.Spec.PodTemplate.Annotations = nil }, false},
		{"a formed quorum", func(c *Cluster) { c.Quorum.Formed = !c.Quorum.Formed }, false},
		{"a setting that is taken live", func(c *Cluster) {
			c.Settings = config.Values{"log.retention.ms": "1", "default.replication.factor": "2", "num.io.threads": "8"}
		}, false},
		{"a setting without effect here", func(c *Cluster) { c.Settings["metadata.max.idle.interval.ms"] = "7" }, false},
		{"a setting that nobody knows", func(c *Cluster) { c.Settings["log.retension.hours"] = "7" }, false},
		{"the same number in other digits", func(c *Cluster) { c.Spec.Resources.Requests[corev1.ResourceCPU] = resource.MustParse("500m") }, false},
		{"a setting that is read at the start", func(c *Cluster) { c.Settings["default.replication.factor"] = "3" }, true},
		{"the same setting taken out", func(c *Cluster) { delete(c.Settings, "default.replication.factor") }, true},
		{"another image", func(c *Cluster) { c.Image = "registry.example/fairlead:1.1" }, true},
		{"other resources", func(c *Cluster) { c.Spec.Resources.Limits = nil }, true},
		{"another listener", func(c *Cluster) { c.Spec.Listeners = c.Spec.Listeners[:1] }, true},
		{"racks by another label", func(c *Cluster) { c.Spec.Rack = &v1alpha1.Rack{NodeLabel: "room"} }, true},
		{"no racks", func(c *Cluster) { c.Spec.Rack = nil }, true},
		{"another node selector", func(c *Cluster) { c.Spec.PodTemplate.NodeSelector = nil }, true},
		{"a longer grace period", func(c *Cluster) { c.Spec.PodTemplate.TerminationGracePeriodSeconds = 600 }, true},
	} {
		before, c := full(), full()
		r.change(&c)
		if restarts := c.RestartHash() != before.RestartHash(); restarts != r.restarts {
			t.Errorf("%s: restarts brokers: %v, want %v", r.what, restarts, r.restarts)
		}
	}
}

func TestPodKeysComeBack(t *testing.T) {
	c := full()
	c.Spec.PodTemplate.Labels["app"] = "x"
	labels, annotations := PodKeys(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: c.PodAnnotations()}})
	if strings.Join(labels, ",") != "app,team" || strings.Join(annotations, ",") != "example.com/scrape" {
		t.Errorf("%q %q", labels, annotations)
	}
}

func TestOurLabelsAndAnnotationsWin(t *testing.T) {
	c := minimal()
	c.Spec.PodTemplate.Labels = map[string]string{"app.kubernetes.io/instance": "other"}
	c.Spec.PodTemplate.Annotations = map[string]string{RestartHashAnnotation: "x", RackAnnotation: "y"}
	p := c.StatefulSet().Spec.Template
	if p.Labels["app.kubernetes.io/instance"] != "events" || p.Annotations[RestartHashAnnotation] != c.RestartHash() || p.Annotations[RackAnnotation] != "" {
		t.Errorf("%v %v", p.Labels, p.Annotations)
	}
}

func TestNamesComeBack(t *testing.T) {
	for _, r := range []struct {
		name string
		id   int32
		ok   bool
	}{{"a-0", 0, true}, {"a-12", 12, true}, {"a-01", 0, false}, {"a-+1", 0, false}, {"a--1", 0, false}, {"a-", 0, false}, {"b-1", 0, false}, {"a-b-1", 0, false}} {
		id, ok := PodBroker("a", r.name)
		if ok != r.ok || ok && id != r.id {
			t.Errorf("%s: %d %v", r.name, id, ok)
		}
		id, ok = ClaimBroker("a", "data-"+r.name)
		if ok != r.ok || ok && id != r.id {
			t.Errorf("data-%s: %d %v", r.name, id, ok)
		}
	}
}
