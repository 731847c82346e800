// Package electortest tests what a service does when it leads, when it loses the lease and
// when it leads again: without a server, and in the fake time of testing/synctest, where
// leases of 15 s take no time.
//
// A service that sets working while it leads is tested so:
//
//	func TestServiceWorksOnlyWhileItLeads(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			store, s := electortest.NewStore(), &service{}
//			c := electortest.Lead(t, store, elector.Config{Election: "billing", OnStarted: s.lead})
//			s.expect(t, true)
//
//			store.Fail(nil) // until the lease has been lost
//			<-c.Term().Context().Done()
//			s.expect(t, false)
//
//			store.Recover()
//			c.Term()
//			s.expect(t, true)
//		})
//	}
//
// The service and its expect are in the package's example_test.go. There, expect calls
// synctest.Wait first: the service has then done all that it can do at that moment.
//
// A service that makes its elector itself takes the Store as its elector.Store. Store.Leader
// and Store.AwaitLeader tell its test who leads.
//
// Everything here also works in real time, outside of bubbles.
package electortest
