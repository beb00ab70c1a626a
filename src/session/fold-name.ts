/**
 * Spellings that a directory may take for the same name (RFC 4518 §2) are one: NFKC, without what nobody sees, in lower case.
 * By way of upper case: ß, ς and ı have large letters that others have too; İ becomes an i with a dot.
 */
export function foldName(name: string): string {
  const seen = name.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '')
  const folded = seen.toLowerCase().toUpperCase().toLowerCase()
  return folded.replaceAll('i\u0307', 'i').normalize('NFKC')
}
