package handler

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/wire"
)

// apiVersions answers ApiVersions 0 to 5. Unknown versions never come here: package conn answers them (KIP-511).
//
//	v3  names of the client's software are checked; flexible, but for the response header
//	v5  the client may say which cluster and node it means (KIP-1242); another one is REBOOTSTRAP_REQUIRED
func (h *Handler) apiVersions(c *call, r kmsg.Request) *conn.Reply {
	req := r.(*kmsg.ApiVersionsRequest)
	resp := kmsg.NewPtrApiVersionsResponse()
	if req.Version >= 3 {
		if !wire.ValidClientSoftware(req.ClientSoftwareName) || !wire.ValidClientSoftware(req.ClientSoftwareVersion) {
			resp.ErrorCode = int16(kafka.InvalidRequest)
			return c.answer(resp)
		}
		c.Conn.SetSoftware(conn.Software{Name: req.ClientSoftwareName, Version: req.ClientSoftwareVersion})
	}
	if req.Version >= 5 && !h.meansUs(req) {
		resp.ErrorCode = int16(kafka.RebootstrapRequired)
		return c.answer(resp)
	}
	resp.ApiKeys = h.apis.Advertised()
	describeFeatures(resp, c.image)
	return c.answer(resp)
}

// meansUs tells whether the cluster and the node that a client expects, if it names any, are ours.
func (h *Handler) meansUs(req *kmsg.ApiVersionsRequest) bool {
	if req.ClusterID != nil && *req.ClusterID != h.ClusterID() {
		return false
	}
	return req.NodeID < 0 || kafka.NodeID(req.NodeID) == h.Node
}

// describeFeatures tells the feature levels that are finalized: clients choose their behaviour by them.
func describeFeatures(resp *kmsg.ApiVersionsResponse, image *metadata.Image) {
	resp.FinalizedFeaturesEpoch = -1
	for _, f := range image.Features() {
		final := kmsg.NewApiVersionsResponseFinalizedFeature()
		final.Name, final.MinVersionLevel, final.MaxVersionLevel = f.Name, f.Level, f.Level
		resp.FinalizedFeatures = append(resp.FinalizedFeatures, final)
		supported := kmsg.NewApiVersionsResponseSupportedFeature()
		supported.Name, supported.MaxVersion = f.Name, f.Level
		resp.SupportedFeatures = append(resp.SupportedFeatures, supported)
		resp.FinalizedFeaturesEpoch = int64(image.Version())
	}
}
