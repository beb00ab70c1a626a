import { v4 as uuid } from 'uuid'
import { idFromSeed, type RandomBytes } from './authn/issued-tokens.ts'
import type { User } from './authn/user.ts'

/** The events of users that the sandbox sends, by Okta's names. */
export type OrgEventType =
  | 'user.lifecycle.suspend'
  | 'user.lifecycle.unsuspend'
  | 'user.lifecycle.deactivate'
  | 'user.session.clear'
  | 'user.account.lock'
  | 'user.account.reset_password'
  | 'user.account.update_password'
  | 'user.mfa.factor.reset_all'

export type OrgEvent = Readonly<Record<string, unknown>> & { readonly eventType: OrgEventType }

/** Who did it. `system` is Okta itself. */
export type OrgEventActor = 'administrator' | 'user' | 'system'

const DONE_BY_USER: ReadonlySet<OrgEventType> = new Set(['user.account.lock', 'user.account.update_password'])
const OTHER_ACTORS = {
  administrator: {
    id: idFromSeed('00u', 'administrator'),
    type: 'User',
    alternateId: 'admin@example.test',
    displayName: 'Sandbox Administrator',
  },
  system: {
    id: idFromSeed('00u', 'system'),
    type: 'SystemPrincipal',
    alternateId: 'system@okta.com',
    displayName: 'Okta System',
  },
}
const HOOK_ID = idFromSeed('who', 'event hook')

type Source = { now: () => number; random: RandomBytes }

/** An event as in Okta's System Log. */
export function createOrgEvent(
  eventType: OrgEventType,
  user: User,
  { now, random }: Source,
  actor: OrgEventActor = DONE_BY_USER.has(eventType) ? 'user' : 'administrator',
): OrgEvent {
  const { id, login, config } = user
  const target = {
    id,
    type: 'User',
    alternateId: login,
    displayName: `${config.firstName} ${config.lastName}`,
  }
  return {
    uuid: uuid({ random: random(16) }),
    published: new Date(now()).toISOString(),
    eventType,
    version: '0',
    severity: 'INFO',
    actor: actor === 'user' ? target : OTHER_ACTORS[actor],
    outcome: { result: 'SUCCESS', reason: null },
    target: [target],
  }
}

/** The body of a delivery (https://developer.okta.com/docs/concepts/event-hooks/). */
export function deliveryBody(event: OrgEvent, { now, random, origin }: Source & { origin: string }) {
  return {
    eventType: 'com.okta.event_hook',
    eventTypeVersion: '1.0',
    cloudEventsVersion: '0.1',
    source: `${origin}/api/v1/eventHooks/${HOOK_ID}`,
    eventId: uuid({ random: random(16) }),
    data: { events: [event] },
    eventTime: new Date(now()).toISOString(),
    contentType: 'application/json',
  }
}
