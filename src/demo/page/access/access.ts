import type { Access, Session } from '/demo/client/index.js'
import { gatehouse } from '../gatehouse.js'
import { actions, type Child, element, fill, fillText, foreign, paragraph } from '../parts/elements.js'
import { button } from '../parts/form.js'
import { listOf, texts, timeOf } from '../parts/language.js'
import { show, wordsOf } from '../parts/screen.js'
import { createDirectory, groupTable } from './groups.js'
import { createSessionList } from './session-list.js'

/** "My access": the session, the user's other sessions, roles and groups. */
export async function showAccess(session: Session): Promise<void> {
  const facts = element('dl', { class: 'facts', 'aria-live': 'polite' }, ...factsOf(session))
  const access = element('div', {}, paragraph(texts.lookingUpGroups))
  const sessions = element('div', {})
  show(
    fill(texts.hello, { name: String(session.profile.firstName ?? session.login) }),
    facts,
    actions(
      button(texts.signOut, () => gatehouse.signOut()),
      button(texts.staySignedIn, async () => facts.replaceChildren(...factsOf(await gatehouse.refresh()))),
    ),
    element('h3', {}, texts.myRolesAndGroups),
    access,
    element('h3', {}, texts.whereSignedIn),
    sessions,
    element('h3', {}, texts.allGroups),
    createDirectory(),
  )
  await Promise.all([
    fillSection(access, async () => accessFacts(await gatehouse.groups())),
    fillSection(sessions, createSessionList),
  ])
}

/** Loads one section of the page. Its error appears in its place, and the other sections stay usable. */
async function fillSection(place: HTMLElement, content: () => Promise<readonly Child[]>): Promise<void> {
  const children = await content().catch((error: unknown) => [
    element('p', { class: 'error', role: 'alert' }, ...wordsOf(error).words),
  ])
  place.replaceChildren(...element('div', {}, ...children).childNodes)
}

function factsOf(session: Session): HTMLElement[] {
  const methods: Readonly<Record<string, string>> = texts.methods
  const facts: readonly (readonly [name: string, value: Child])[] = [
    [texts.signedInAs, foreign(session.login)],
    [texts.since, time(session.createdAt)],
    [texts.signedInWith, listOf(session.amr.map((method) => methods[method] ?? method))],
    [texts.endsWhenIdle, time(session.idleExpiresAt)],
    [texts.endsAtLatest, time(session.expiresAt)],
  ]
  return facts.flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, value)])
}

function accessFacts({ groups, roles, maximalRoles, unknownRoles, meta }: Access): Child[] {
  const strongest = new Set<string>(maximalRoles)
  const unknown = unknownRoles.map((role) => fillText(texts.unknownRole, { role }))
  const tags = [...roles, ...unknown].map((role) =>
    element('span', { class: strongest.has(role) ? 'tag strong' : 'tag' }, role),
  )
  return [
    paragraph(...tags),
    groups.length === 0 ? paragraph(texts.noGroups) : groupTable(texts.myGroups, groups),
    meta.stale && paragraph(...fill(texts.asOf, { time: time(meta.fetchedAt) })),
  ]
}

export function time(iso: string): HTMLTimeElement {
  return element('time', { datetime: iso }, timeOf(iso))
}
