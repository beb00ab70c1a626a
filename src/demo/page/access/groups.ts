import { actions, element } from '../parts/elements.js'
import { button, form } from '../parts/form.js'
import { type CallBroker, type Group, groupTable, text } from './access.js'

interface Page {
  readonly list: readonly Group[]
  readonly nextCursor: string | null
}

const PAGE = '10'
const SEARCH = ['search', 'Part of the name', { type: 'search', required: false }] as const

/** Search over all groups. The broker answers 403 if this user may not list them. */
export function createDirectory(callBroker: CallBroker): HTMLElement {
  const found = element('div', { 'aria-live': 'polite' })

  const search = async (words: string, cursor: string | undefined, before: readonly Group[]) => {
    const query = new URLSearchParams({ search: words, limit: PAGE, ...(cursor ? { cursor } : {}) })
    const { list, nextCursor } = await callBroker<Page>('GET', `/api/v1/pam/groups?${query}`)
    const groups = [...before, ...list]
    found.replaceChildren(
      text(groups.length === 0 ? 'No group has this text in its name.' : `${groups.length} shown`),
      ...(groups.length === 0 ? [] : [groupTable('Groups found', groups)]),
      ...(nextCursor ? [actions(button('More', () => search(words, nextCursor, groups)))] : []),
    )
    const firstNew = found.querySelectorAll('tbody tr')[before.length]?.querySelector('td')
    if (before.length === 0 || !firstNew) return
    firstNew.tabIndex = -1
    firstNew.focus() // the pressed button no longer exists
  }
  return element(
    'div',
    {},
    form([SEARCH], 'Search', ({ search: words }) => search(String(words), undefined, [])),
    found,
  )
}
