import { call } from './broker.js'
import { element } from './elements.js'

/** The demo's own corner: whom to try, and what their phone would show. It talks to the sandbox, not the broker. */
interface Person {
  readonly login: string
  readonly password: string
  readonly says: string
  readonly code: string | null
  readonly pushWaiting: boolean
}

const REFRESH_MS = 1500

export async function showPeople(choose: (login: string, password: string) => void): Promise<void> {
  const list = byId('people')
  let chosen: string | undefined
  const people = await call<Person[]>('GET', '/demo/people')
  list.replaceChildren(
    ...people.map(({ login, password, says }) => {
      const pick = element(
        'button',
        { type: 'button' },
        element('strong', {}, login),
        element('span', {}, says),
      )
      pick.addEventListener('click', () => {
        chosen = login
        choose(login, password)
        void refresh()
      })
      return element('li', {}, pick)
    }),
  )
  for (const answer of byId('phone-push').querySelectorAll('button')) {
    answer.addEventListener('click', async () => {
      if (chosen === undefined) return
      await call('POST', '/demo/push', { login: chosen, answer: answer.dataset.answer })
      await refresh()
    })
  }

  const refresh = async () => {
    if (chosen === undefined) return
    const now = (await call<Person[]>('GET', '/demo/people')).find(({ login }) => login === chosen)
    byId('phone-text').textContent = now === undefined ? '' : textFor(now)
    byId('phone-code').hidden = !now?.code
    byId('phone-code').textContent = now?.code ?? ''
    byId('phone-push').hidden = now?.pushWaiting !== true
  }
  setInterval(() => refresh().catch(() => undefined), REFRESH_MS) // the next look will tell
}

function textFor({ login, code, pushWaiting }: Person): string {
  if (pushWaiting) return `Is ${login} signing in just now?`
  return code === null ? `${login} has nothing to show here.` : `The code of ${login} right now:`
}

function byId(id: string): HTMLElement {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`the page has no element ${id}`)
  return found
}
