package desired

import (
	"strconv"
	"strings"
)

// Annotations; see the package comment.
const (
	SpecHashAnnotation     = "fairlead.io/spec-hash"
	RestartHashAnnotation  = "fairlead.io/restart-hash"
	PodKeysAnnotation      = "fairlead.io/pod-keys"
	RackAnnotation         = "fairlead.io/rack"
	LiveSettingsAnnotation = "fairlead.io/live-settings"
	QuorumAnnotation       = "fairlead.io/quorum"
	FormedAnnotation       = "fairlead.io/quorum-formed"
)

// Ports of every broker, beside those of the Cluster's listeners.
const (
	InternalPort = 9093 // between brokers
	AdminPort    = 9094 // health, readiness, metrics
)

// Container is the name of the broker's container.
const Container = "broker"

// FieldOwner of what is applied.
const FieldOwner = "fairlead-operator"

const claimTemplate = "data"

// BrokersService is the name of the headless Service of a cluster.
func BrokersService(cluster string) string { return cluster + "-brokers" }

// BootstrapService is the name of the Service that clients begin with.
func BootstrapService(cluster string) string { return cluster + "-bootstrap" }

// ConfigMapName is the name of the ConfigMap with the brokers' files.
func ConfigMapName(cluster string) string { return cluster + "-config" }

// Pod is the name of a broker's pod.
func Pod(cluster string, broker int32) string { return cluster + "-" + strconv.Itoa(int(broker)) }

// Claim is the name of the claim of a broker's volume.
func Claim(cluster string, broker int32) string { return claimTemplate + "-" + Pod(cluster, broker) }

// PodBroker is the number of the broker whose pod has the name.
func PodBroker(cluster, pod string) (int32, bool) { return number(pod, cluster+"-") }

// ClaimBroker is the number of the broker whose claim has the name.
func ClaimBroker(cluster, claim string) (int32, bool) {
	return number(claim, claimTemplate+"-"+cluster+"-")
}

func number(name, prefix string) (int32, bool) {
	text, ok := strings.CutPrefix(name, prefix)
	n, err := strconv.ParseInt(text, 10, 32)
	return int32(n), ok && err == nil && n >= 0 && strconv.Itoa(int(n)) == text
}

// Host is the name under which a broker is found inside the Kubernetes cluster; pod may be a reference to an environment variable.
func Host(cluster, namespace, pod string) string {
	return pod + "." + BrokersService(cluster) + "." + namespace + ".svc"
}

// Selector are the labels that select the pods and claims of a cluster's brokers.
func Selector(cluster string) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":      "fairlead",
		"app.kubernetes.io/instance":  cluster,
		"app.kubernetes.io/component": "broker",
	}
}

// labels are those of every object.
func labels(cluster string) map[string]string {
	l := Selector(cluster)
	l["app.kubernetes.io/managed-by"] = FieldOwner
	return l
}
