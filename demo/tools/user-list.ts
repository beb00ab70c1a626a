import { call } from './call.js'
import { element } from './elements.js'
import type { User } from './user.js'

export interface UserList {
  readonly view: HTMLElement
  /** Selects the user with this login, full or short. undefined if there is none. */
  named(login: string): User | undefined
}

/** All users, with a filter by name and description. */
export function createUserList(users: readonly User[], onChoose: (user: User) => void): UserList {
  const found = element('p', { id: 'users-found', class: 'soft', role: 'status' })
  const tell = (text: string) => {
    found.textContent = text
  }
  const rows = users.map((user) => rowOf(user, () => onChoose(mark(user)), tell))
  const filter = element('input', {
    type: 'search',
    autocomplete: 'off',
    spellcheck: 'false',
    'aria-describedby': 'users-found',
  })
  filter.addEventListener('input', apply)
  apply()
  const list = element('ul', { id: 'people' }, ...rows.map(({ item }) => item))
  return {
    view: element('div', {}, element('label', {}, 'Find a user', filter), found, list),
    named(login) {
      const wanted = login.trim().toLowerCase()
      const user = users.find((one) => one.login === wanted || one.login.replace(/@.*/, '') === wanted)
      return user && mark(user)
    },
  }

  function apply(): void {
    const words = filter.value.toLowerCase().split(/\s+/)
    for (const { item, user } of rows) {
      const text = `${user.login} ${user.name} ${user.description}`.toLowerCase()
      item.hidden = !words.every((word) => text.includes(word))
    }
    const shown = rows.filter(({ item }) => !item.hidden).length
    const all = users.length
    tell(shown === all ? `${all} users` : `${shown} of ${all} users`)
  }

  function mark(chosen: User): User {
    for (const { user, pick } of rows) pick.ariaPressed = String(user === chosen)
    return chosen
  }
}

interface Row {
  readonly user: User
  readonly item: HTMLLIElement
  readonly pick: HTMLButtonElement
}

function rowOf(user: User, onPick: () => void, tell: (text: string) => void): Row {
  const pick = element(
    'button',
    { type: 'button', 'aria-pressed': 'false' },
    element('strong', { id: nameId(user) }, user.login),
    element('span', {}, user.description),
  )
  pick.addEventListener('click', onPick)
  return { user, pick, item: element('li', {}, pick, adminButtons(user, tell)) }
}

const nameId = ({ login }: User) => `login-${login}`

/**
 * Change the user in the org, as an administrator does. The page then asks for its session, as if
 * it had become visible.
 */
function adminButtons(user: User, tell: (text: string) => void): HTMLElement {
  const made = (label: string) =>
    element('button', { type: 'button', 'aria-describedby': nameId(user) }, label)
  const suspend = made('')
  const others = { deactivate: made('Deactivate'), reset_password: made('Reset password') }
  let suspension = ''
  show(user.status)
  suspend.addEventListener('click', () => change(suspension))
  for (const [operation, button] of Object.entries(others))
    button.addEventListener('click', () => change(operation))
  return element('div', {}, suspend, ...Object.values(others))

  async function change(operation: string): Promise<void> {
    try {
      const body = { login: user.login, operation }
      const { status } = await call<{ status: string }>('POST', '/demo/users/lifecycle', body)
      show(status)
      tell(`${user.login} is ${status}.`)
      document.dispatchEvent(new Event('visibilitychange'))
    } catch (error) {
      tell(error instanceof Error ? error.message : '')
    }
  }

  function show(status: string): void {
    suspension = status === 'SUSPENDED' ? 'unsuspend' : 'suspend'
    suspend.textContent = status === 'SUSPENDED' ? 'Unsuspend' : 'Suspend'
  }
}
