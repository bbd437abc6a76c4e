package desired

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// BrokersService is headless: it names each pod, also one that is not ready, since brokers must find each other to become ready.
func (c Cluster) BrokersService() *corev1.Service {
	ports := append(c.clientPorts(),
		port("internal", InternalPort), // no listener of a Cluster has one of these names
		port("admin-http", AdminPort))
	return sealed(&corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: c.meta(BrokersService(c.Name)),
		Spec: corev1.ServiceSpec{
			ClusterIP:                corev1.ClusterIPNone,
			Selector:                 Selector(c.Name),
			PublishNotReadyAddresses: true,
			Ports:                    ports,
		},
	})
}

// BootstrapService is where clients begin: any broker that is ready.
func (c Cluster) BootstrapService() *corev1.Service {
	return sealed(&corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: c.meta(BootstrapService(c.Name)),
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeClusterIP,
			Selector: Selector(c.Name),
			Ports:    c.clientPorts(),
		},
	})
}

// BootstrapAddress is of the first listener.
func (c Cluster) BootstrapAddress() string {
	for _, l := range c.listeners() {
		return hostPort(BootstrapService(c.Name)+"."+c.Namespace+".svc", l.Port)
	}
	return ""
}

func (c Cluster) clientPorts() []corev1.ServicePort {
	var ports []corev1.ServicePort
	for _, l := range c.listeners() {
		ports = append(ports, port(l.Name, l.Port))
	}
	return ports
}

// port has a target by number: a name would have to be in the pods' spec, and so in what restarts them.
func port(name string, number int32) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Protocol: corev1.ProtocolTCP, Port: number, TargetPort: intstr.FromInt32(number)}
}
