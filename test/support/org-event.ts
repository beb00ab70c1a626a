/** Deliveries of Okta's event hooks, as Okta documents them (concepts/event-hooks). */

export interface OrgEventFields {
  readonly eventType?: string
  readonly uuid?: string
  readonly published?: string
  readonly outcome?: object
  readonly target?: readonly object[]
}

/** A user as the target of an event. */
export const userTarget = (id: string, alternateId = `${id}@example.test`) => ({
  id,
  type: 'User',
  alternateId,
  displayName: 'Plainly Fake',
  detailEntry: null,
})

let events = 0

export function orgEvent(userId: string, fields: OrgEventFields = {}) {
  events += 1
  return {
    uuid: `plainly-fake-event-${events}`,
    published: new Date().toISOString(),
    eventType: 'user.lifecycle.suspend',
    version: '0',
    severity: 'INFO',
    actor: { id: '00uPlainlyFakeAdmin', type: 'User', alternateId: 'admin@example.test' },
    outcome: { result: 'SUCCESS', reason: null },
    target: [userTarget(userId)],
    ...fields,
  }
}

export function delivery(...sent: readonly unknown[]) {
  return {
    eventType: 'com.okta.event_hook',
    eventTypeVersion: '1.0',
    cloudEventsVersion: '0.1',
    source: 'https://your-org.example.net/api/v1/eventHooks/who1plainlyfake',
    eventId: 'plainly-fake-delivery',
    data: { events: sent },
    eventTime: new Date().toISOString(),
    contentType: 'application/json',
  }
}
