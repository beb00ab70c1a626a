import { call } from './call.js'
import { byId, element } from './elements.js'
import { createPhone } from './phone.js'
import { createSheet } from './sheet.js'
import type { User } from './user.js'
import { createUserList } from './user-list.js'
import { installVirtualKey } from './virtual-key.js'

/**
 * The demo's tools next to a sign-in page: the sandbox's users, their phone and the reset. They
 * call the sandbox through `/demo/…`. The sign-in page does not depend on them.
 *
 * @param fillIn fills the chosen user's name and password into the page's form
 * @returns chooses the user with this login
 */
export async function openTools(
  fillIn: (user: User) => void | Promise<void>,
): Promise<(login: string) => void> {
  const sheet = createSheet()
  const phone = createPhone(sheet.isAsked)
  const choose = (user: User) => {
    phone.belongTo(user)
    sheet.close()
    void fillIn(user)
  }
  const users = createUserList(await call<User[]>('GET', '/demo/users'), choose)
  sheet.content.append(
    intro(),
    phone.view,
    section(
      'users',
      'Users to try',
      'They exist in the sandbox only. Choose one to fill in the form. The buttons change a user in the org, which ends the user’s sessions.',
      users.view,
    ),
    section(
      'apps',
      'Apps',
      'An app can start a sign-in. After it, the sign-in page redirects to the app.',
      element('p', {}, element('a', { href: '/demo/app/payroll' }, 'Open Payroll')),
    ),
    section('reset', 'Start over', 'Signs everyone out and restores all users.', resetButton()),
  )
  byId('tools').replaceChildren(sheet.button, sheet.content)
  installVirtualKey(() => phone.owner()?.login)
  document.addEventListener('change', ({ target }) => {
    if (!(target instanceof HTMLInputElement) || target.name !== 'username') return
    const user = users.named(target.value)
    if (user) phone.belongTo(user)
  })
  return (login) => {
    const user = users.named(login)
    if (user) choose(user)
  }
}

function intro(): HTMLElement {
  const icon = element('img', { src: '/icon.svg', alt: '', width: '28', height: '28' })
  return element(
    'section',
    { id: 'about', 'aria-labelledby': 'about-title' },
    element('h2', { id: 'about-title' }, icon, ' Gatehouse demo'),
    element('p', {}, 'The page holds two HttpOnly cookies and a handle, and no token.'),
    element('p', {}, element('a', { href: '/demo/api.html' }, 'API reference')),
  )
}

function section(id: string, title: string, about: string, ...content: readonly Node[]): HTMLElement {
  return element(
    'section',
    { id, 'aria-labelledby': `${id}-title` },
    element('h2', { id: `${id}-title` }, title),
    element('p', { class: 'soft' }, about),
    ...content,
  )
}

function resetButton(): HTMLElement {
  const said = element('span', { role: 'status' })
  const made = element('button', { type: 'button' }, 'Reset the demo')
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
