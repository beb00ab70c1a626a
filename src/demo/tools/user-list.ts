import { element } from './elements.js'
import type { User } from './user.js'

export interface UserList {
  readonly view: HTMLElement
  /** Selects the user with this login, full or short. undefined if there is none. */
  named(login: string): User | undefined
}

/** All users, with a filter by name and description. */
export function createUserList(users: readonly User[], onChoose: (user: User) => void): UserList {
  const rows = users.map((user) => rowOf(user, () => onChoose(mark(user))))
  const found = element('p', { id: 'users-found', class: 'soft', role: 'status' })
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
    found.textContent = shown === all ? `${all} users` : `${shown} of ${all} users`
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

function rowOf(user: User, onPick: () => void): Row {
  const pick = element(
    'button',
    { type: 'button', 'aria-pressed': 'false' },
    element('strong', {}, user.login),
    element('span', {}, user.description),
  )
  pick.addEventListener('click', onPick)
  return { user, pick, item: element('li', {}, pick) }
}
