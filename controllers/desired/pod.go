package desired

import (
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead-io/fairlead/broker/adminapi"
)

// defaultGrace is of podTemplate.terminationGracePeriodSeconds, if the API server did not put it there.
const defaultGrace = 120

// user of the image, who owns the data.
const user = 65532

// RestartHash is of everything that a broker gets when its process starts and that matters to it.
func (c Cluster) RestartHash() string {
	rackLabel := ""
	if c.Spec.Rack != nil {
		rackLabel = c.Spec.Rack.NodeLabel // another label is another rack, which a broker reads when it starts
	}
	return hash(c.restartValues(), c.podSpec(), rackLabel)
}

// podTemplate is what new pods are made from.
func (c Cluster) podTemplate() corev1.PodTemplateSpec {
	labels, annotations := c.PodLabels(), c.PodAnnotations()
	annotations[RestartHashAnnotation] = c.RestartHash()
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: annotations},
		Spec:       c.podSpec(),
	}
}

// PodLabels are the labels of every pod: the user's, and ours.
func (c Cluster) PodLabels() map[string]string {
	l := usersOwn(c.Spec.PodTemplate.Labels)
	maps.Copy(l, labels(c.Name))
	return l
}

// PodAnnotations are the annotations of every pod, without those that say what it was started with or where it is.
func (c Cluster) PodAnnotations() map[string]string {
	a := usersOwn(c.Spec.PodTemplate.Annotations)
	a[PodKeysAnnotation] = podKeys(usersOwn(c.Spec.PodTemplate.Labels), a)
	return a
}

// usersOwn are the labels or annotations of spec.podTemplate without those that are not the user's to give to a pod: by them a pod is found, and
// known for what it is.
func usersOwn(keys map[string]string) map[string]string {
	own := map[string]string{}
	for k, v := range keys {
		_, ours := labels("")[k]
		if !ours && !strings.HasPrefix(k, "fairlead.io/") && !slices.Contains(statefulSetLabels, k) {
			own[k] = v
		}
	}
	return own
}

// statefulSetLabels are those that Kubernetes puts on each pod of a StatefulSet.
var statefulSetLabels = []string{appsv1.PodIndexLabel, appsv1.StatefulSetPodNameLabel, appsv1.ControllerRevisionHashLabelKey}

// podKeys lists keys that the user put on pods, so that they can be taken off again. Neither ' ' nor ';' is in a key.
func podKeys(labels, annotations map[string]string) string {
	return strings.Join(slices.Sorted(maps.Keys(labels)), " ") + ";" + strings.Join(slices.Sorted(maps.Keys(annotations)), " ")
}

// PodKeys are the keys of labels and annotations that a pod has by an earlier or the present podTemplate.
func PodKeys(p *corev1.Pod) (labels, annotations []string) {
	l, a, _ := strings.Cut(p.Annotations[PodKeysAnnotation], ";")
	return strings.Fields(l), strings.Fields(a)
}

func (c Cluster) podSpec() corev1.PodSpec {
	t := c.Spec.PodTemplate
	yes, no := true, false
	id := int64(user)
	grace := t.TerminationGracePeriodSeconds
	if grace == 0 {
		grace = defaultGrace
	}
	onMismatch := corev1.FSGroupChangeOnRootMismatch
	return corev1.PodSpec{
		ServiceAccountName:           BrokersService(c.Name),
		AutomountServiceAccountToken: &no,
		EnableServiceLinks:           &no, // variables of other Services would be names in the brokers' environment that nobody asked for
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: &yes, RunAsUser: &id, RunAsGroup: &id, FSGroup: &id,
			FSGroupChangePolicy: &onMismatch,
			SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		TerminationGracePeriodSeconds: &grace,
		Containers:                    []corev1.Container{c.container()},
		Volumes:                       c.volumes(),
		NodeSelector:                  t.NodeSelector,
		Tolerations:                   t.Tolerations,
		Affinity:                      c.affinity(),
		TopologySpreadConstraints:     t.TopologySpreadConstraints,
		PriorityClassName:             t.PriorityClassName,
		ImagePullSecrets:              t.ImagePullSecrets,
	}
}

func (c Cluster) container() corev1.Container {
	yes, no := true, false
	return corev1.Container{
		Name:            Container,
		Image:           c.Image,
		ImagePullPolicy: c.Spec.PodTemplate.ImagePullPolicy,
		Args:            []string{"pod", "--dir", configDir},
		Env: []corev1.EnvVar{
			field("POD_NAME", "metadata.name"),
			field("POD_NAMESPACE", "metadata.namespace"),
			field("NODE_ID", "metadata.labels['apps.kubernetes.io/pod-index']"),
		},
		Ports:     c.containerPorts(),
		Resources: c.Spec.Resources,
		// The process is judged alone, from its first moment on: it answers also while it recovers or finds no other broker.
		LivenessProbe: probe(adminapi.LivenessProbe()),
		// What is not ready is no longer found by new clients.
		ReadinessProbe: probe(adminapi.ReadinessProbe()),
		// A panic leaves its last lines, everything else its own message.
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: &no,
			ReadOnlyRootFilesystem:   &yes,
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		VolumeMounts: c.mounts(),
	}
}

func field(variable, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: variable, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}}
}

func probe(p adminapi.Probe) *corev1.Probe {
	k := &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: p.Path, Port: intstr.FromInt32(AdminPort), Scheme: corev1.URISchemeHTTP,
		}},
		PeriodSeconds: p.PeriodSeconds, TimeoutSeconds: p.TimeoutSeconds, FailureThreshold: p.FailureThreshold, SuccessThreshold: 1,
	}
	if p.TerminationGraceSeconds > 0 {
		grace := int64(p.TerminationGraceSeconds)
		k.TerminationGracePeriodSeconds = &grace
	}
	return k
}

func (c Cluster) containerPorts() []corev1.ContainerPort {
	var ports []corev1.ContainerPort
	for _, p := range c.BrokersService().Spec.Ports {
		ports = append(ports, corev1.ContainerPort{Name: p.Name, ContainerPort: p.Port, Protocol: corev1.ProtocolTCP})
	}
	return ports
}

func (c Cluster) mounts() []corev1.VolumeMount {
	m := []corev1.VolumeMount{
		{Name: claimTemplate, MountPath: dataDir},
		{Name: "config", MountPath: configDir, ReadOnly: true},
	}
	if c.Spec.Rack != nil {
		m = append(m, corev1.VolumeMount{Name: "podinfo", MountPath: podInfoDir, ReadOnly: true})
	}
	return m
}

func (c Cluster) volumes() []corev1.Volume {
	mode := int32(0o444)
	v := []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: ConfigMapName(c.Name)},
		DefaultMode:          &mode,
	}}}}
	if c.Spec.Rack != nil {
		v = append(v, corev1.Volume{Name: "podinfo", VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{
			DefaultMode: &mode,
			Items: []corev1.DownwardAPIVolumeFile{{
				Path:     rackFile,
				FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.annotations['" + RackAnnotation + "']"},
			}},
		}}})
	}
	return v
}

// affinity keeps brokers of one cluster on different nodes when it can, unless the user says otherwise.
func (c Cluster) affinity() *corev1.Affinity {
	if c.Spec.PodTemplate.Affinity != nil {
		return c.Spec.PodTemplate.Affinity
	}
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
			Weight: 100,
			PodAffinityTerm: corev1.PodAffinityTerm{
				LabelSelector: &metav1.LabelSelector{MatchLabels: Selector(c.Name)},
				TopologyKey:   corev1.LabelHostname,
			},
		}},
	}}
}
