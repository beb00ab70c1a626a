import { type Access, BrokerTrouble, call, type Session } from './broker.js'
import { button, element, messageOf } from './elements.js'

/** "My access": who is signed in, since when, and which groups and roles that gives. */
export async function showAccess(
  session: Session,
  show: (title: string, ...content: HTMLElement[]) => void,
  signedOut: () => void,
): Promise<void> {
  const access = element('div', {}, element('p', {}, 'Looking up your groups…'))
  show(
    `Hello ${session.profile.firstName ?? session.login}`,
    sessionFacts(session),
    access,
    element(
      'p',
      { class: 'actions' },
      button('Sign out', async () => {
        await call('DELETE', '/api/v1/sessions/me').catch(() => undefined) // no session left is fine too
        signedOut()
      }),
    ),
  )
  try {
    access.replaceChildren(...accessFacts(await call<Access>('GET', '/api/v1/pam/me')))
  } catch (error) {
    if (error instanceof BrokerTrouble && error.status === 401) return signedOut()
    access.replaceChildren(element('p', { class: 'trouble' }, messageOf(error)))
  }
}

function sessionFacts(session: Session): HTMLElement {
  return element(
    'dl',
    {},
    ...facts('Signed in as', session.login),
    ...facts('Since', time(session.createdAt)),
    ...facts('Proved by', session.amr.join(', ')),
    ...facts('Ends when idle at', time(session.idleExpiresAt)),
    ...facts('Ends at the latest', time(session.expiresAt)),
  )
}

function accessFacts(access: Access): HTMLElement[] {
  const strongest = new Set(access.maximalRoles)
  return [
    element('h3', {}, 'Roles'),
    element(
      'p',
      {},
      ...access.roles.map((role) =>
        element('span', { class: strongest.has(role) ? 'tag strong' : 'tag' }, role),
      ),
      ...access.unknownRoles.map((role) => element('span', { class: 'tag' }, `${role} (unknown)`)),
    ),
    element('h3', {}, `Groups (${access.groups.length})`),
    access.groups.length === 0
      ? element('p', {}, 'You are in no group.')
      : element(
          'table',
          {},
          element('thead', {}, element('tr', {}, header('Group'), header('Gives'))),
          element(
            'tbody',
            {},
            ...access.groups.map(({ name, roles }) =>
              element('tr', {}, element('td', {}, name), element('td', {}, roles.join(', ') || '—')),
            ),
          ),
        ),
    element('p', {}, access.meta.stale ? `As of ${time(access.meta.fetchedAt)} (not fresh)` : ''),
  ]
}

function facts(name: string, value: string): HTMLElement[] {
  return [element('dt', {}, name), element('dd', {}, value)]
}

function header(text: string): HTMLElement {
  return element('th', { scope: 'col' }, text)
}

function time(iso: string): string {
  return new Date(iso).toLocaleString()
}
