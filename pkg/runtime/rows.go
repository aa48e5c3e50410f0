package runtime

import "github.com/dynawire/dynawire/pkg/runtime/internal/row"

// instanceOf makes what users see of what is kept.
func instanceOf(r *row.Row) Instance {
	where := r.Where()
	return Instance{
		ID:        InstanceID{Namespace: where.KubeNamespace, PodName: r.Self.Name(), UID: r.Self.UIDText()},
		Namespace: where.Namespace, Component: where.Component,
		Ready: r.Ready(), Terminating: r.Terminating(),
		Addresses: r.Addresses(), Zone: where.Zone, Node: where.Node,
		Revision: r.Revision, Metadata: &r.Self.Metadata,
	}
}

// rowOf keeps what backends give.
func rowOf(i *Instance) *row.Row {
	r := row.New(row.NewSelf(i.ID.PodName, i.ID.UID, string(i.Metadata.Raw()), nil), row.Where{
		KubeNamespace: i.ID.Namespace, Namespace: i.Namespace, Component: i.Component, Node: i.Node, Zone: i.Zone,
	})
	for _, a := range i.Addresses {
		r.AddAddress(a)
	}
	r.SetReady(i.Ready, i.Terminating)
	return r
}
