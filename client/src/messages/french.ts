import type { Catalogue } from './catalogue.ts'

/** A narrow no-break space (U+202F) precedes `:`, `;`, `!`, `?` and `»`, and follows `«`. */
export const FRENCH: Catalogue = {
  language: 'fr',
  tryAgainLater: 'Veuillez réessayer plus tard.',
  tryAgainIn: 'Vous pourrez réessayer {when}.',
  passwordRules: {
    minLength: { one: 'au moins {n} caractère', other: 'au moins {n} caractères' },
    minLowerCase: { one: 'une lettre minuscule', other: 'au moins {n} lettres minuscules' },
    minUpperCase: { one: 'une lettre majuscule', other: 'au moins {n} lettres majuscules' },
    minNumber: { one: 'un chiffre', other: 'au moins {n} chiffres' },
    minSymbol: {
      one: 'un caractère spécial, comme « ! » ou « ? »',
      other: 'au moins {n} caractères spéciaux, comme « ! » ou « ? »',
    },
    historyCount: {
      one: 'différent de votre dernier mot de passe',
      other: 'différent de vos {n} derniers mots de passe',
    },
    excludeUsername: 'aucune partie de votre nom d’utilisateur',
    excludeFirstName: 'sans votre prénom',
    excludeLastName: 'sans votre nom de famille',
    notUsedBefore: 'différent de vos mots de passe précédents',
    notCommon: 'différent des mots de passe courants',
  },
  messages: {
    offline: ['Pas de connexion', 'Le portail est injoignable. Êtes-vous en ligne ?'],
    unavailable: ['Le service de connexion n’est pas disponible', '{retry}'],
    stepInProgress: ['Votre dernière action est encore en cours de traitement', '{retry}'],
    apiNotProxied: [
      'Erreur de configuration',
      'Cette page n’atteint pas le service de connexion (/api est-il relayé ?). Contactez votre service d’assistance.',
    ],
    unknown: [
      'Une erreur est survenue',
      'Veuillez réessayer. Si le problème persiste, contactez votre service d’assistance.',
    ],
    pageFault: [
      'Une erreur est survenue',
      'Cette page a envoyé une requête non valide. Contactez votre service d’assistance.',
    ],
    notFound: ['Introuvable', 'L’élément demandé est introuvable.'],
    notAllowed: ['Non autorisé', 'Vous n’avez pas l’autorisation nécessaire.'],
    addressBlocked: [
      'Impossible depuis ce réseau',
      'Le service de connexion refuse le réseau que vous utilisez. Essayez depuis un autre réseau ou contactez votre service d’assistance.',
    ],
    signInAgain: ['Reconnectez-vous', 'Confirmez votre identité en vous connectant à nouveau.'],
    notPossible: [
      'Opération impossible',
      'Votre compte ne le permet pas pour le moment. Contactez votre service d’assistance.',
    ],
    invalidInput: ['Vérifiez votre saisie', 'L’un des champs n’est pas correct.'],
    rateLimited: ['Trop de tentatives', '{retry}'],
    directoryUnavailable: [
      'L’annuaire de votre entreprise ne répond pas',
      'Votre mot de passe est peut-être correct. {retry}',
    ],

    signedOutHere: ['Session fermée', 'Vous avez fermé votre session.'],
    sessionIdle: ['Session fermée', 'Votre session a été fermée en raison de votre inactivité.'],
    sessionExpired: ['Session fermée', 'Votre session a atteint sa durée maximale.'],
    sessionEnded: ['Session fermée', 'Votre session a été fermée depuis un autre endroit.'],
    signedOut: ['Session fermée', 'Veuillez vous reconnecter.'],
    otherUser: [
      'Une autre personne est connectée',
      'Une autre personne est connectée dans ce navigateur. Fermez d’abord cette session, puis réessayez.',
    ],
    newerSignIn: ['Nouvelle connexion', 'Une autre connexion dans ce navigateur a remplacé votre session.'],
    sessionReplaced: [
      'Nouvelle connexion',
      'Une connexion plus récente a eu lieu dans ce navigateur. Actualisez cette page.',
    ],
    cookiesBlocked: [
      'Les cookies sont bloqués',
      'Votre navigateur n’a pas renvoyé notre cookie. Veuillez autoriser les cookies pour ce site.',
    ],
    expired: [
      'Veuillez recommencer',
      'Le délai est dépassé. Si vous avez suivi un lien reçu par e-mail, ouvrez-le à nouveau.',
    ],
    linkExpired: [
      'Ce lien n’est plus valide',
      'Ce lien a expiré ou a déjà été utilisé. Demandez-en un nouveau.',
    ],
    notOffered: ['Veuillez recommencer', 'Cette étape n’est pas disponible pour le moment.'],

    wrongCredentials: [
      'Échec de la connexion',
      'Nom d’utilisateur ou mot de passe incorrect. Veuillez réessayer.',
    ],
    passwordExpired: [
      'Votre mot de passe a expiré',
      'Si vous ne pouvez pas en définir un nouveau ici, contactez votre service d’assistance.',
    ],
    passwordBreached: [
      'Votre mot de passe n’est pas sûr',
      'Il figure dans une fuite de données. Si vous ne pouvez pas en définir un nouveau ici, contactez votre service d’assistance.',
    ],
    accountLocked: [
      'Votre compte est verrouillé',
      'Si vous ne pouvez pas le déverrouiller ici, contactez votre service d’assistance.',
    ],
    accountDenied: [
      'Accès impossible',
      'Vous ne pouvez pas utiliser votre compte pour le moment. Contactez votre service d’assistance.',
    ],
    accountActive: ['Votre compte est déjà activé', 'Vous pouvez vous connecter.'],
    accountNotReady: [
      'Votre compte est en cours de configuration',
      'Veuillez réessayer dans quelques minutes.',
    ],
    accountUnlocked: ['Votre compte est déverrouillé', 'Vous pouvez maintenant vous connecter.'],
    unlockNotAllowed: [
      'Opération impossible',
      'Votre compte ne peut pas être déverrouillé ici. Contactez votre service d’assistance.',
    ],
    resetNotAllowed: [
      'Opération impossible',
      'Votre mot de passe ne peut pas être réinitialisé ici. Contactez votre service d’assistance.',
    ],
    recoveryNotAllowed: [
      'Opération impossible',
      'L’accès à ce compte ne peut pas être récupéré ici. Contactez votre service d’assistance.',
    ],
    changeNotAllowed: [
      'Opération impossible',
      'Votre mot de passe ne peut pas être modifié ici. Contactez votre service d’assistance.',
    ],

    passwordRules: ['Choisissez un autre mot de passe', 'Ce mot de passe ne respecte pas les règles.'],
    wrongOldPassword: ['Vérifiez votre mot de passe actuel', 'Votre mot de passe actuel n’est pas correct.'],
    passwordUsedBefore: ['Choisissez un autre mot de passe', 'Vous avez déjà utilisé ce mot de passe.'],
    passwordTooNew: ['Mot de passe modifié récemment', 'Il ne peut pas encore être modifié à nouveau.'],
    passwordCommon: [
      'Choisissez un autre mot de passe',
      'Ce mot de passe est très courant, donc facile à deviner.',
    ],

    wrongCode: ['Réponse incorrecte', 'Le code ou la réponse est incorrect. Veuillez réessayer.'],
    wrongAnswer: ['Réponse incorrecte', 'Cette réponse est incorrecte. Veuillez réessayer.'],
    codeUsed: [
      'Attendez le code suivant',
      'Chaque code ne peut servir qu’une seule fois : saisissez le suivant.',
    ],
    codeExpired: ['Code expiré', 'Ce code n’est plus valide. Saisissez le code actuel.'],
    factorLocked: [
      'Trop de tentatives infructueuses',
      'Ce second facteur est verrouillé pour le moment. Utilisez-en un autre ou contactez votre service d’assistance.',
    ],
    invalidPhone: [
      'Vérifiez le numéro de téléphone',
      'Saisissez le numéro avec le signe + et l’indicatif du pays.',
    ],
    keyNotUsed: [
      'Clé de sécurité non utilisée',
      'La demande a été annulée ou a pris trop de temps, ou cette clé n’est pas configurée pour vous. Veuillez réessayer.',
    ],
    keyAlreadySetUp: [
      'Déjà configurée',
      'Vous avez déjà configuré cette clé de sécurité. Utilisez-en une autre.',
    ],
    tokenPrompt: ['Encore une étape', 'Votre jeton demande :'],
    nextTokenCode: [
      'Attendez le code suivant',
      'Attendez que votre jeton affiche un autre code, puis saisissez ce code.',
    ],
    smsSent: ['Nous vous avons envoyé un SMS', '{retry}'],
    callMade: ['Nous vous avons téléphoné', '{retry}'],
    emailSent: ['Nous vous avons envoyé un e-mail', '{retry}'],
    tooManyMessages: ['Trop de messages', '{retry}'],
    messagesUsedUp: [
      'Impossible d’envoyer un message',
      'Choisissez une autre méthode ou contactez votre service d’assistance.',
    ],

    factorNeeded: [
      'Un second facteur est nécessaire',
      'Cette application exige une connexion avec un second facteur. S’il ne vous est pas demandé, configurez-en d’abord un ou contactez votre service d’assistance.',
    ],
    securityKeyNeeded: [
      'Une clé de sécurité est nécessaire',
      'Cette application exige une connexion avec une clé de sécurité ou un jeton matériel. Si cela ne vous est pas demandé, configurez d’abord l’un des deux ou contactez votre service d’assistance.',
    ],
    otherMethodNeeded: [
      'Une autre méthode de connexion est nécessaire',
      'Cette application n’accepte pas la méthode que vous avez utilisée pour vous connecter. Choisissez un autre facteur (configurez-le d’abord si nécessaire) ou contactez votre service d’assistance.',
    ],
    roleNeeded: [
      'Vous n’avez pas accès',
      'Vous n’avez pas le rôle que cette application exige. Contactez votre service d’assistance.',
    ],
    groupNeeded: [
      'Vous n’avez pas accès',
      'Vous ne faites partie d’aucun des groupes auxquels cette application est destinée. Contactez votre service d’assistance.',
    ],
    boundSessionNeeded: [
      'Impossible dans ce navigateur',
      'Cette application exige une session liée à votre appareil. Utilisez un navigateur qui le permet ou contactez votre service d’assistance.',
    ],

    groupsNotAvailable: ['Impossible d’afficher vos groupes', 'Contactez votre service d’assistance.'],
    groupsNotAvailableNow: ['Impossible d’afficher vos groupes pour le moment', '{retry}'],
    pamDisabled: ['Groupes non disponibles', 'L’accès à privilèges est désactivé pour votre organisation.'],
    pamUserUnknown: ['Pas d’accès à privilèges', 'Vous n’avez pas de compte pour l’accès à privilèges.'],

    rejected: ['Demande refusée', 'La demande a été refusée sur votre téléphone.'],
    notAnswered: ['Pas de réponse', 'La demande n’a pas reçu de réponse à temps.'],
    cancelled: ['Demande annulée', 'La demande a été annulée.'],
    notDelivered: ['Demande non transmise', 'La demande n’a pas pu être transmise.'],
    providerRefused: [
      'Échec de la connexion',
      'La connexion auprès de l’autre fournisseur d’identité n’a pas abouti.',
    ],
  },
}
