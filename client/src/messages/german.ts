import type { Catalogue } from './catalogue.ts'

export const GERMAN: Catalogue = {
  language: 'de',
  tryAgainLater: 'Bitte versuchen Sie es später noch einmal.',
  tryAgainIn: 'Sie können es {when} noch einmal versuchen.',
  passwordRules: {
    minLength: { other: 'mindestens {n} Zeichen' },
    minLowerCase: { one: 'ein Kleinbuchstabe', other: 'mindestens {n} Kleinbuchstaben' },
    minUpperCase: { one: 'ein Großbuchstabe', other: 'mindestens {n} Großbuchstaben' },
    minNumber: { one: 'eine Ziffer', other: 'mindestens {n} Ziffern' },
    minSymbol: { one: 'ein Sonderzeichen wie ! oder ?', other: 'mindestens {n} Sonderzeichen wie ! oder ?' },
    historyCount: { one: 'nicht Ihr letztes Passwort', other: 'keines Ihrer letzten {n} Passwörter' },
    excludeUsername: 'kein Teil Ihres Benutzernamens',
    excludeFirstName: 'nicht Ihr Vorname',
    excludeLastName: 'nicht Ihr Nachname',
    notUsedBefore: 'kein Passwort, das Sie schon einmal verwendet haben',
    notCommon: 'kein Passwort, das viele verwenden',
  },
  messages: {
    offline: ['Keine Verbindung', 'Das Portal ist nicht erreichbar. Sind Sie online?'],
    unavailable: ['Der Anmeldedienst ist gerade nicht verfügbar', '{retry}'],
    stepInProgress: ['Ihr letzter Schritt wird noch verarbeitet', '{retry}'],
    apiNotProxied: [
      'Etwas ist nicht richtig eingerichtet',
      'Diese Seite erreicht den Anmeldedienst nicht (wird /api weitergeleitet?). Wenden Sie sich an Ihren Helpdesk.',
    ],
    unknown: [
      'Etwas ist schiefgegangen',
      'Bitte versuchen Sie es noch einmal. Hilft das nicht, wenden Sie sich an Ihren Helpdesk.',
    ],
    pageFault: [
      'Etwas ist schiefgegangen',
      'Diese Seite hat eine ungültige Anfrage gesendet. Wenden Sie sich an Ihren Helpdesk.',
    ],
    notFound: ['Nicht gefunden', 'Das Angeforderte wurde nicht gefunden.'],
    notAllowed: ['Nicht erlaubt', 'Dafür haben Sie keine Berechtigung.'],
    addressBlocked: [
      'Von diesem Netz aus nicht möglich',
      'Der Anmeldedienst lehnt Anfragen aus Ihrem Netz ab. Versuchen Sie es in einem anderen, oder wenden Sie sich an Ihren Helpdesk.',
    ],
    signInAgain: ['Bitte erneut anmelden', 'Bestätigen Sie durch eine erneute Anmeldung, dass Sie es sind.'],
    notPossible: [
      'Nicht möglich',
      'Mit Ihrem Konto geht das zurzeit nicht. Wenden Sie sich an Ihren Helpdesk.',
    ],
    invalidInput: ['Bitte prüfen Sie Ihre Eingabe', 'Eines der Felder ist nicht richtig ausgefüllt.'],
    rateLimited: ['Zu viele Versuche', '{retry}'],
    directoryUnavailable: [
      'Das Verzeichnis Ihres Unternehmens antwortet nicht',
      'Ihr Passwort ist möglicherweise richtig. {retry}',
    ],

    signedOutHere: ['Sie sind abgemeldet', 'Sie haben sich abgemeldet.'],
    sessionIdle: ['Sie sind abgemeldet', 'Sie wurden abgemeldet, weil Sie nicht aktiv waren.'],
    sessionExpired: ['Sie sind abgemeldet', 'Die maximale Sitzungsdauer ist erreicht.'],
    sessionEnded: ['Sie sind abgemeldet', 'Ihre Sitzung wurde an anderer Stelle beendet.'],
    signedOut: ['Sie sind abgemeldet', 'Bitte melden Sie sich wieder an.'],
    otherUser: [
      'Jemand anderes ist angemeldet',
      'In diesem Browser ist jemand anderes angemeldet. Melden Sie sich zuerst ab, und versuchen Sie es dann noch einmal.',
    ],
    newerSignIn: ['Neue Anmeldung', 'Eine andere Anmeldung in diesem Browser hat Ihre Sitzung ersetzt.'],
    sessionReplaced: [
      'Neue Anmeldung',
      'In diesem Browser gibt es eine neuere Anmeldung. Laden Sie diese Seite neu.',
    ],
    cookiesBlocked: [
      'Cookies sind blockiert',
      'Ihr Browser hat unser Cookie nicht zurückgesendet. Bitte erlauben Sie Cookies für diese Seite.',
    ],
    expired: [
      'Bitte von vorn beginnen',
      'Das hat zu lange gedauert. Wenn Sie über einen Link aus einer E-Mail gekommen sind, öffnen Sie ihn noch einmal.',
    ],
    linkExpired: [
      'Link nicht mehr gültig',
      'Dieser Link ist abgelaufen oder wurde schon benutzt. Fordern Sie einen neuen an.',
    ],
    notOffered: ['Bitte von vorn beginnen', 'Dieser Schritt ist jetzt nicht möglich.'],

    wrongCredentials: [
      'Anmeldung fehlgeschlagen',
      'Benutzername oder Passwort ist falsch. Bitte versuchen Sie es noch einmal.',
    ],
    passwordExpired: [
      'Ihr Passwort ist abgelaufen',
      'Wenn Sie hier kein neues setzen können, wenden Sie sich an Ihren Helpdesk.',
    ],
    passwordBreached: [
      'Ihr Passwort ist nicht sicher',
      'Es wurde in einem Datenleck gefunden. Wenn Sie hier kein neues setzen können, wenden Sie sich an Ihren Helpdesk.',
    ],
    accountLocked: [
      'Ihr Konto ist gesperrt',
      'Wenn Sie es hier nicht entsperren können, wenden Sie sich an Ihren Helpdesk.',
    ],
    accountDenied: [
      'Kein Zugriff',
      'Sie können Ihr Konto zurzeit nicht verwenden. Wenden Sie sich an Ihren Helpdesk.',
    ],
    accountActive: ['Ihr Konto ist schon aktiviert', 'Sie können sich anmelden.'],
    accountNotReady: [
      'Ihr Konto wird noch eingerichtet',
      'Bitte versuchen Sie es in einigen Minuten noch einmal.',
    ],
    accountUnlocked: ['Ihr Konto ist entsperrt', 'Sie können sich jetzt anmelden.'],
    unlockNotAllowed: [
      'Nicht möglich',
      'Ihr Konto kann hier nicht entsperrt werden. Wenden Sie sich an Ihren Helpdesk.',
    ],
    resetNotAllowed: [
      'Nicht möglich',
      'Ihr Passwort kann hier nicht zurückgesetzt werden. Wenden Sie sich an Ihren Helpdesk.',
    ],
    recoveryNotAllowed: [
      'Nicht möglich',
      'Dieses Konto kann hier nicht wiederhergestellt werden. Wenden Sie sich an Ihren Helpdesk.',
    ],
    changeNotAllowed: [
      'Nicht möglich',
      'Ihr Passwort kann hier nicht geändert werden. Wenden Sie sich an Ihren Helpdesk.',
    ],

    passwordRules: ['Bitte ein anderes Passwort wählen', 'Dieses Passwort entspricht nicht den Regeln.'],
    wrongOldPassword: [
      'Bitte prüfen Sie Ihr aktuelles Passwort',
      'Ihr aktuelles Passwort ist nicht richtig.',
    ],
    passwordUsedBefore: [
      'Bitte ein anderes Passwort wählen',
      'Dieses Passwort haben Sie schon einmal verwendet.',
    ],
    passwordTooNew: ['Passwort erst kürzlich geändert', 'Es kann noch nicht wieder geändert werden.'],
    passwordCommon: [
      'Bitte ein anderes Passwort wählen',
      'Viele Menschen verwenden dieses Passwort. Deshalb ist es leicht zu erraten.',
    ],

    wrongCode: [
      'Das stimmt nicht',
      'Der Code oder die Antwort ist falsch. Bitte versuchen Sie es noch einmal.',
    ],
    wrongAnswer: ['Das stimmt nicht', 'Die Antwort ist falsch. Bitte versuchen Sie es noch einmal.'],
    codeUsed: [
      'Bitte auf den nächsten Code warten',
      'Jeder Code gilt nur einmal: Geben Sie den nächsten ein.',
    ],
    codeExpired: ['Code abgelaufen', 'Dieser Code ist zu alt. Geben Sie den aktuellen ein.'],
    factorLocked: [
      'Zu viele Fehlversuche',
      'Dieser zweite Faktor ist vorerst gesperrt. Verwenden Sie einen anderen, oder wenden Sie sich an Ihren Helpdesk.',
    ],
    invalidPhone: ['Bitte prüfen Sie die Telefonnummer', 'Geben Sie die Nummer mit + und Ländervorwahl ein.'],
    keyNotUsed: [
      'Sicherheitsschlüssel nicht verwendet',
      'Die Anfrage wurde abgebrochen oder hat zu lange gedauert, oder dieser Schlüssel ist nicht für Sie eingerichtet. Bitte versuchen Sie es noch einmal.',
    ],
    keyAlreadySetUp: [
      'Bereits eingerichtet',
      'Sie haben diesen Sicherheitsschlüssel schon eingerichtet. Verwenden Sie einen anderen.',
    ],
    tokenPrompt: ['Noch ein Schritt', 'Ihr Token verlangt:'],
    nextTokenCode: [
      'Bitte auf den nächsten Code warten',
      'Warten Sie, bis Ihr Token einen anderen Code zeigt, und geben Sie dann diesen ein.',
    ],
    smsSent: ['Wir haben Ihnen eine SMS gesendet', '{retry}'],
    callMade: ['Wir haben Sie angerufen', '{retry}'],
    emailSent: ['Wir haben Ihnen eine E-Mail gesendet', '{retry}'],
    tooManyMessages: ['Zu viele Nachrichten', '{retry}'],
    messagesUsedUp: [
      'Es kann keine Nachricht gesendet werden',
      'Wählen Sie einen anderen Weg, oder wenden Sie sich an Ihren Helpdesk.',
    ],

    factorNeeded: [
      'Ein zweiter Faktor ist nötig',
      'Diese Anwendung verlangt eine Anmeldung mit einem zweiten Faktor. Werden Sie nicht danach gefragt, richten Sie zuerst einen ein, oder wenden Sie sich an Ihren Helpdesk.',
    ],
    securityKeyNeeded: [
      'Ein Sicherheitsschlüssel ist nötig',
      'Diese Anwendung verlangt eine Anmeldung mit einem Sicherheitsschlüssel oder Hardware-Token. Werden Sie nicht danach gefragt, richten Sie zuerst einen ein, oder wenden Sie sich an Ihren Helpdesk.',
    ],
    otherMethodNeeded: [
      'Eine andere Art der Anmeldung ist nötig',
      'Diese Anwendung akzeptiert Ihre Art der Anmeldung nicht. Wählen Sie einen anderen Faktor, richten Sie zuerst einen ein, oder wenden Sie sich an Ihren Helpdesk.',
    ],
    roleNeeded: [
      'Sie haben keinen Zugang',
      'Ihnen fehlt die Rolle, die diese Anwendung verlangt. Wenden Sie sich an Ihren Helpdesk.',
    ],
    groupNeeded: [
      'Sie haben keinen Zugang',
      'Sie sind in keiner der Gruppen, für die diese Anwendung bestimmt ist. Wenden Sie sich an Ihren Helpdesk.',
    ],
    boundSessionNeeded: [
      'In diesem Browser nicht möglich',
      'Diese Anwendung verlangt eine Sitzung, die an Ihr Gerät gebunden ist. Verwenden Sie einen Browser, der das kann, oder wenden Sie sich an Ihren Helpdesk.',
    ],

    groupsNotAvailable: ['Gruppen konnten nicht abgerufen werden', 'Wenden Sie sich an Ihren Helpdesk.'],
    groupsNotAvailableNow: ['Gruppen konnten nicht abgerufen werden', '{retry}'],
    pamDisabled: [
      'Gruppen nicht verfügbar',
      'Der privilegierte Zugriff ist für Ihre Organisation abgeschaltet.',
    ],
    pamUserUnknown: ['Kein privilegierter Zugriff', 'Sie haben kein Konto für den privilegierten Zugriff.'],

    rejected: ['Abgelehnt', 'Die Anfrage wurde auf Ihrem Telefon abgelehnt.'],
    notAnswered: ['Keine Antwort', 'Die Anfrage wurde nicht rechtzeitig beantwortet.'],
    cancelled: ['Abgebrochen', 'Die Anfrage wurde abgebrochen.'],
    notDelivered: ['Nicht zugestellt', 'Die Anfrage konnte nicht zugestellt werden.'],
    providerRefused: ['Anmeldung fehlgeschlagen', 'Der externe Anmeldedienst hat die Anmeldung abgelehnt.'],
  },
}
