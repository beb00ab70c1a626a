import { call, type RequestError } from '../parts/call.js'
import { actions, type Child, element } from '../parts/elements.js'
import { button } from '../parts/form.js'
import { show, showError } from '../parts/screen.js'
import { createOwnDevices } from './devices.js'
import { createDirectory } from './groups.js'
import { createOwnSessions } from './sessions.js'

export interface Session {
  readonly id: string
  readonly login: string
  readonly profile: Readonly<Record<string, string>>
  readonly amr: readonly string[]
  readonly createdAt: string
  readonly expiresAt: string
  readonly idleExpiresAt: string
}

interface Access {
  readonly groups: readonly Group[]
  readonly roles: readonly string[]
  readonly maximalRoles: readonly string[]
  readonly unknownRoles: readonly string[]
  readonly meta: { readonly fetchedAt: string; readonly stale: boolean }
}

export interface Group {
  readonly id: string
  readonly name: string
  readonly roles: readonly string[]
}

/** Calls the broker for this session. 409 if another user has signed in in another tab. */
export type CallBroker = <Answer>(method: string, url: string) => Promise<Answer>

/** "My access": the session, the user's other sessions, roles and groups. */
export async function showAccess(session: Session, signedOut: () => void): Promise<void> {
  const callBroker: CallBroker = (method, url) =>
    call(method, url, undefined, { 'x-gatehouse-session': session.id })
  const facts = element('dl', { class: 'facts', 'aria-live': 'polite' }, ...factsOf(session))
  const access = element('div', {}, text('Looking up your groups…'))
  const sessions = element('div', {})
  const devices = element('div', {})
  show(
    `Hello ${session.profile.firstName ?? session.login}`,
    facts,
    actions(
      button('Sign out', async () => {
        await callBroker('DELETE', '/api/v1/sessions/me')
        signedOut()
      }),
      button('Stay signed in', async () => {
        const refreshed = await callBroker<Session>('POST', '/api/v1/sessions/me/lifecycle/refresh')
        facts.replaceChildren(...factsOf(refreshed))
      }),
    ),
    element('h3', {}, 'My roles and groups'),
    access,
    element('h3', {}, 'Where I am signed in'),
    sessions,
    element('h3', {}, 'My devices'),
    devices,
    element('h3', {}, 'All groups'),
    createDirectory(callBroker),
  )
  await Promise.all([
    fillSection(access, async () => accessFacts(await callBroker<Access>('GET', '/api/v1/pam/me'))),
    fillSection(sessions, () => createOwnSessions(callBroker)),
    fillSection(devices, () => createOwnDevices(callBroker)),
  ])
}

/** Loads one section of the page. Its error appears in its place, and the other sections stay usable. */
async function fillSection(place: HTMLElement, content: () => Promise<readonly Child[]>): Promise<void> {
  try {
    place.replaceChildren(...(await content()).filter((child) => child !== undefined && child !== false))
  } catch (error) {
    const { message, isOver }: Partial<RequestError> = error instanceof Error ? error : {}
    if (!isOver) place.replaceChildren(element('p', { class: 'error', role: 'alert' }, message))
    else if (place.isConnected) await showError(error)
  }
}

function factsOf(session: Session): HTMLElement[] {
  return [
    ...fact('Signed in as', session.login),
    ...fact('Since', time(session.createdAt)),
    ...fact('Signed in with', session.amr.map((method) => METHODS[method] ?? method).join(', ')),
    ...fact('Ends when idle', time(session.idleExpiresAt)),
    ...fact('Ends at the latest', time(session.expiresAt)),
  ]
}

/** Authentication methods (RFC 8176). */
const METHODS: Readonly<Record<string, string>> = {
  pwd: 'password',
  otp: 'one-time code',
  sms: 'text message',
  tel: 'phone call',
  kba: 'question',
  swk: 'phone',
  hwk: 'security key or token',
  mfa: 'more than one factor',
}

function accessFacts(access: Access): Child[] {
  const strongest = new Set(access.maximalRoles)
  return [
    element(
      'p',
      {},
      ...access.roles.map((role) =>
        element('span', { class: strongest.has(role) ? 'tag strong' : 'tag' }, role),
      ),
      ...access.unknownRoles.map((role) => element('span', { class: 'tag' }, `${role} (unknown)`)),
    ),
    access.groups.length === 0 ? text('You are in no group.') : groupTable('My groups', access.groups),
    access.meta.stale && text('As of ', time(access.meta.fetchedAt), '; it may have changed since.'),
  ]
}

export function text(...children: readonly Child[]): HTMLParagraphElement {
  return element('p', {}, ...children)
}

export function groupTable(caption: string, groups: readonly Group[]): HTMLTableElement {
  const headings = ['Group', 'Roles'].map((heading) => element('th', { scope: 'col' }, heading))
  const rows = groups.map(({ name, roles }) =>
    element('tr', {}, element('td', {}, name), element('td', {}, roles.join(', ') || 'none')),
  )
  return element(
    'table',
    {},
    element('caption', { class: 'unseen' }, caption),
    element('thead', {}, element('tr', {}, ...headings)),
    element('tbody', {}, ...rows),
  )
}

export function time(iso: string): HTMLTimeElement {
  const shown = new Date(iso).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' })
  return element('time', { datetime: iso }, shown)
}

function fact(name: string, value: Child): HTMLElement[] {
  return [element('dt', {}, name), element('dd', {}, value)]
}
