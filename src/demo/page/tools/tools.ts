import { byId, element } from '../parts/elements.js'
import { texts } from '../parts/language.js'
import { call } from './call.js'
import { createPhone } from './phone.js'
import type { User } from './user.js'
import { createUserList } from './user-list.js'
import { installVirtualKey } from './virtual-key.js'

/**
 * The demo's tools next to a sign-in page: the sandbox's users, their phone and the reset. They call the sandbox (through
 * `/demo/…`), never the broker. The sign-in page does not depend on them.
 *
 * @param fillIn fills the chosen user's name and password into the page's form
 * @returns selects the user with this login
 */
export async function openTools(
  fillIn: (user: User) => void | Promise<void>,
): Promise<(login: string) => void> {
  const phone = createPhone()
  const users = createUserList(await call<User[]>('GET', '/demo/users'), (user) => {
    phone.belongTo(user)
    void fillIn(user)
  })
  byId('tools').replaceChildren(
    phone.view,
    section('users', texts.usersToTry, texts.aboutUsers, users.view),
    section(
      'apps',
      texts.apps,
      texts.aboutApps,
      element('p', {}, element('a', { href: '/demo/app/payroll' }, texts.openPayroll)),
    ),
    section('reset', texts.startOver, texts.aboutReset, resetButton()),
  )
  installVirtualKey(() => phone.owner()?.login)
  const select = (login: string) => {
    const user = users.named(login)
    if (user) phone.belongTo(user)
  }
  document.addEventListener('change', ({ target }) => {
    if (target instanceof HTMLInputElement && target.name === 'username') select(target.value)
  })
  return select
}

function section(id: string, title: string, about: string, ...content: readonly Node[]): HTMLElement {
  return element(
    'section',
    { id, class: 'card', 'aria-labelledby': `${id}-title` },
    element('h2', { id: `${id}-title` }, title),
    element('p', { class: 'soft' }, about),
    ...content,
  )
}

function resetButton(): HTMLElement {
  const said = element('span', { role: 'status' })
  const made = element('button', { type: 'button' }, texts.reset)
  made.addEventListener('click', async () => {
    try {
      await call('POST', '/demo/reset')
      location.replace(location.pathname)
    } catch (error) {
      said.textContent = error instanceof Error ? error.message : ''
    }
  })
  return element('p', {}, made, ' ', said)
}
