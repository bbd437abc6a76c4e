package cluster

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/controllers/desired"
)

// podMetadata puts labels and annotations of spec.podTemplate on the pods that there are, takes off those that it had before, and tells
// each pod the rack of its node once it is on one. A rack stays what it is while the pod lives: its broker has read it.
func podMetadata(t *turn) {
	if !t.makeObjects {
		return
	}
	for _, b := range t.brokers {
		if b.pod == nil || b.going() {
			continue
		}
		oldLabels, oldAnnotations := desired.PodKeys(b.pod)
		p := PatchPod{
			Name: b.name, UID: b.pod.UID,
			Labels:      difference(b.pod.Labels, t.want.PodLabels(), oldLabels),
			Annotations: difference(b.pod.Annotations, t.want.PodAnnotations(), oldAnnotations),
		}
		if rack := t.rack(b); rack != "" && b.pod.Annotations[desired.RackAnnotation] == "" {
			if p.Annotations == nil {
				p.Annotations = map[string]*string{}
			}
			p.Annotations[desired.RackAnnotation] = &rack
		}
		if len(p.Labels)+len(p.Annotations) > 0 {
			t.do(p)
		}
	}
}

// difference is what makes have contain want, without those of the old keys that are not in want.
func difference(have, want map[string]string, old []string) map[string]*string {
	var d map[string]*string
	put := func(k string, v *string) {
		if d == nil {
			d = map[string]*string{}
		}
		d[k] = v
	}
	for k, v := range want {
		if now, ok := have[k]; !ok || now != v {
			put(k, &v)
		}
	}
	for _, k := range old {
		if _, stays := want[k]; !stays {
			if _, there := have[k]; there {
				put(k, nil)
			}
		}
	}
	return d
}

// rack is that of the broker's node, as far as it is known.
func (t *turn) rack(b *broker) string {
	node := t.node(b)
	if t.c.Spec.Rack == nil || node == nil {
		return ""
	}
	return node.Labels[t.c.Spec.Rack.NodeLabel]
}

func (t *turn) node(b *broker) *corev1.Node {
	if b.pod == nil || b.pod.Spec.NodeName == "" {
		return nil
	}
	n, _ := t.s.Nodes[b.pod.Spec.NodeName].Get()
	return n
}

// rackProblem tells why a broker on a node waits for its rack for ever.
func (t *turn) rackProblem(b *broker) string {
	if t.c.Spec.Rack == nil || b.pod == nil || b.going() || b.pod.Spec.NodeName == "" || b.pod.Annotations[desired.RackAnnotation] != "" {
		return ""
	}
	f := t.s.Nodes[b.pod.Spec.NodeName]
	n, known := f.Get()
	switch {
	case !known:
		return "node " + b.pod.Spec.NodeName + " cannot be read, so the broker waits for its rack: " + why(f)
	case n == nil || n.Labels[t.c.Spec.Rack.NodeLabel] != "":
		return ""
	}
	return "node " + n.Name + " has no label " + t.c.Spec.Rack.NodeLabel + ": the broker waits for its rack"
}
