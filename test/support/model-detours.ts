import type { PageAnswer } from './browser.ts'
import { isOurs, isQuestions, linksIn } from './model-answers.ts'
import type { ModelOperation } from './model-pairs.ts'
import { BROWSERS, type ModelState, type Tab } from './model-state.ts'
import type { Steps } from './model-steps.ts'
import { typed } from './model-typing.ts'

/** Requests that are not steps: sign-out, another browser's handle, malformed bodies, GET requests. */
export function createDetours(state: ModelState, { pathFor, typing }: Steps) {
  const { random, sessions, require, send, checkSession, learn, isPlanted, origin } = state

  const leave = async (index: number) => {
    await send(index, 'DELETE', '/api/v1/sessions/me')
    sessions[index] = undefined
    await checkSession(index)
  }

  const steal = async (tab: Tab, operation: ModelOperation) => {
    const thief = (tab.browser + 1) % BROWSERS
    const path = pathFor(tab, operation)
    const body = typed(operation.name, path, tab, true, typing())
    const { answer, calls } = await send(thief, 'POST', path, { stateToken: tab.handle, ...body })
    require(isOurs(answer, 'E0000011') && calls.length === 0, 'a handle in another browser', answer)
    await checkSession(thief)
  }

  const garble = async (tab: Tab, operation: ModelOperation) => {
    const body = random.pick<object>([
      {},
      { stateToken: 17 },
      { stateToken: tab.handle, passCode: {}, answer: [] },
    ])
    const { answer, calls } = await send(tab.browser, 'POST', pathFor(tab, operation), body)
    const passes = isOurs(answer, 'E0000001', 'E0000011', 'E0000079') && calls.length === 0
    if ('answer' in body && !passes) return learnFromGarbled(tab, operation, answer)
    require(passes, 'a garbled body', answer)
  }

  /** The broker drops fields that an operation does not have; the rest is a valid step. */
  const learnFromGarbled = async (tab: Tab, { upstream }: ModelOperation, answer: PageAnswer) => {
    if (answer.status !== 200) {
      if (answer.json.errorCode === 'E0000011' || isPlanted(tab, answer)) tab.status = 'CANCELLED'
    } else if (upstream === 'cancel') tab.status = 'CANCELLED'
    else learn(tab, answer, false)
    await checkSession(tab.browser)
  }

  const followGet = async (tab: Tab) => {
    const gets = linksIn(tab.answer, origin).filter(
      ({ methods, path }) => methods.includes('GET') && /\/(questions|qr\/[^/]+)$/.test(path),
    )
    const link = random.pickOne(gets)
    if (link === undefined || tab.forgotten) return
    const { answer, calls } = await send(tab.browser, 'GET', link.path)
    require(answer.status === 200 && calls.length === 1, 'an offered GET', answer)
    const thief = (tab.browser + 1) % BROWSERS
    const other = await send(thief, 'GET', link.path)
    const own = state.tabs.some((one) => one.browser === thief && one.offered.has(link.path))
    const isRefused = isOurs(other.answer, 'E0000079') && other.calls.length === 0
    require(own ||
      isRefused ||
      isQuestions(link.path), 'a GET that was offered to another browser', other.answer)
  }

  return { leave, steal, garble, followGet }
}
