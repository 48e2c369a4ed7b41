"""``p2pdice identity``: the key by which others know a player."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cli.exits import Failure
from cli.front import JsonOption, YesOption, application, stands_alone
from cli.home import home_of, new_passphrase, unlocked
from cli.output import confirm, say
from cli.preferences import NameOption, nickname
from cli.render import command_line, counted, shown_path, stated
from cli.settings import Settings, home_words
from protocol.crypto.keys import (
    Identity,
    KeyFileError,
    WrongPassphraseError,
    is_protected,
    read_key,
    read_private,
    replace_key_file,
)
from protocol.crypto.words import fingerprint_words
from protocol.files import write_whole
from protocol.storage import archive
from protocol.storage import backup as backups
from protocol.storage.database import HomeInUseError, StoreError
from protocol.storage.home import Home

if TYPE_CHECKING:
    from protocol.storage.backup import Backup

EPILOG: Final = """\b
Examples:
  p2pdice identity
  p2pdice identity show --json --home ~/second-player
  p2pdice identity backup ~/p2pdice.backup
  p2pdice identity restore ~/p2pdice.backup
  p2pdice identity passphrase
  p2pdice identity new

\b
A script gives the passphrase in P2PDICE_PASSPHRASE, and a new one in
P2PDICE_NEW_PASSPHRASE.
"""

app = application()


@app.callback(invoke_without_command=True, epilog=EPILOG)
def identity(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """Show, back up, restore, protect or replace your key.

    Others know you by your key. Without a subcommand, it is shown.
    """
    if stands_alone(ctx, as_json, "identity", "show", "--json"):
        show(ctx, None, as_json)


@app.command(epilog=EPILOG)
def show(
    ctx: typer.Context,
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show your name, your key's fingerprint, and where the key is kept; create the key if there is none.

    Two people compare fingerprints, by eye or over the phone, to be sure that they play with each other. The words
    stand for the same fingerprint as the letters.
    """
    home = ctx.ensure_object(Settings).private_home()
    player = nickname(name)
    me, is_new = _unlocked(Home(home))
    path, words = Home(home).identity, fingerprint_words(me.fingerprint)
    has_passphrase = is_protected(read_private(path))
    if as_json:
        data = {"name": player, "fingerprint": me.fingerprint, "words": words, "key": str(path)}
        print(json.dumps(data | {"passphrase": has_passphrase, "created": is_new}))
        return
    if is_new:
        print("There was no identity here, so a new one was made.")
    print(f"Name:         {player}")
    print(f"Fingerprint:  {me.fingerprint}")
    print(f"In words:     {words}")
    print(f"Key:          {shown_path(path)}")
    if has_passphrase:
        print("Anybody with a copy of the key file and its passphrase can play in your name.")
    else:
        print("Anybody with a copy of the key file can play in your name.")


def _unlocked(home: Home) -> tuple[Identity, bool]:
    """Return the identity of a home, unlocked, and whether it has just been created."""
    if (me := unlocked(home.path)) is not None:
        return me, False
    if home.identity.exists() or not home.store.exists():
        return Identity.load_or_create(home.path)
    with closing(archive.open_store(home)) as store:
        return archive.unlock(home, store)


@app.command(epilog=EPILOG)
def new(ctx: typer.Context, is_sure: YesOption = False) -> None:
    """Make a new key. Other players will not recognise you by it.

    The present key is kept in a file beside the new one, so that you can go back to it with restore. Unfinished matches
    belong to the key that began them.
    """
    home = home_of(ctx)
    with closing(archive.open_store(home)) as store:
        if unfinished := len(archive.unfinished(store.matches())):
            say(f"You cannot return to {counted(unfinished, 'unfinished match', 'unfinished matches')} with a new key.")
        if has_key := home.identity.exists():
            say("To others you will be somebody new, even under the same name.")
            say("The present key is kept beside the new one. You can go back to it.")
            say("Your purse belongs to the present key. With the new one you begin another.")
        if has_key or unfinished:
            confirm("Make a new key?", is_sure, command_line("identity", "new", "--yes", *home_words(home.path)))
        me = Identity.generate()
        kept = replace_key_file(home.identity, me.encoded())
    print(f"Your new fingerprint:  {me.fingerprint}")
    if kept is not None:
        restore_it = command_line("identity", "restore", kept, *home_words(home.path))
        print(f"The former key is {shown_path(kept)}\nTo go back to it:\n    {restore_it}")
    protect = command_line("identity", "passphrase", *home_words(home.path))
    print(f"The new key has no passphrase. To set one:\n    {protect}")


@app.command(epilog=EPILOG)
def backup(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False, help="A new file.")],
) -> None:
    """Write a backup to one file, even while you play.

    It contains your key (still protected, if it has a passphrase), your purse, the people whom you have met or trust,
    and your finished matches. Unfinished ones are left out on purpose: if you continued one from an old copy, you might
    contradict messages that you have signed since, and look like a cheat. Transcripts are separate files, in the
    "matches" folder of your home.
    """
    home = home_of(ctx)
    if not home.identity.exists():
        raise Failure(f"There is no key in {shown_path(home.path)} yet.", hint="It is made when you first play.")
    try:
        made = backups.back_up(home, file)
    except FileExistsError:
        problem = "is a folder" if file.is_dir() else "exists already"
        raise Failure(f"{shown_path(file)} {problem}.", hint="Give a file that does not exist yet.") from None
    print(f"The backup is {shown_path(file)}: {_content(made)}.")
    if not made.is_protected:
        say("The key in it has no passphrase: anybody with a copy of the file can play in your name. To set one first:")
        print(f"    {command_line('identity', 'passphrase', *home_words(home.path))}")
    restore_it = command_line("identity", "restore", file, "--home", "DIR")
    print(f"To restore it, into a new folder DIR:\n    {restore_it}")


def _content(made: Backup) -> str:
    key = "your key, protected by its passphrase" if made.is_protected else "your key"
    purse = ", your purse" if made.has_purse else ""
    people = counted(made.people, "person", "people")
    return f"{key}{purse}, {counted(made.matches, 'finished match', 'finished matches')}, {people}"


@app.command(epilog=EPILOG)
def restore(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False, help="A backup, or a key file.")],
    is_sure: YesOption = False,
) -> None:
    """Restore the key of a backup, and its purse, people and matches if none are kept here.

    If this home already has a key, that key is kept in a file beside the restored one. FILE can also be a key file
    alone. You cannot return to matches that were unfinished when the backup was made: the backup does not contain them,
    and their seats are lost if the home that began them is lost.
    """
    home = home_of(ctx)
    try:
        found = backups.look(file)
    except backups.BackupError as error:
        raise Failure(stated(error.parts), hint="Nothing was changed.") from None
    if found.made is None:
        say(f"{shown_path(file)} is a key file alone.")
    else:
        made = datetime.fromtimestamp(found.made).strftime("%Y-%m-%d %H:%M")
        say(f"The backup was made on {made}. It holds {_content(found)}.")
    its_key = _without_passphrase(found.key, file)
    say(f"Its key is {its_key.fingerprint}." if its_key else "Its key is protected by a passphrase.")
    say("Unfinished matches are not in a backup: only the home that began a match can return to it.")
    say("Use one key in one place: two programs with one key close each other's connections.")
    has_key_already = home.identity.exists() and _tell_of_the_key_here(home.identity, found.key, its_key)
    _tell_what_stays(home, file, found, its_key, has_key_already=has_key_already)
    confirm("Restore it?", is_sure, command_line("identity", "restore", file, "--yes", *home_words(home.path)))
    try:
        restored = backups.restore(home, file)
    except HomeInUseError as error:
        raise Failure(stated(error.parts), hint="Close it, and try again.") from None
    if restored.former_key is not None:
        print(f"The former key is {shown_path(restored.former_key)}")
    if restored.former_store is not None:
        print(f"The damaged store is {shown_path(restored.former_store)}")
    print(
        "Your key is restored, with its purse, people and matches." if restored.has_store else "Your key is restored."
    )
    if is_protected(found.key):
        print("It is protected by the passphrase that it had.")


def _without_passphrase(data: bytes, path: Path) -> Identity | None:
    """Return the key in the content of a key file; None if it needs a passphrase.

    :raises KeyFileError: if the content is not a key.
    """
    try:
        return read_key(data, None, path)
    except WrongPassphraseError:
        return None


def _tell_of_the_key_here(path: Path, restored: bytes, its_key: Identity | None) -> bool:
    """Print which key this home has, and that it is kept. Return whether it is certainly the key to be restored.

    :param path: the key file of this home.
    :param restored: the content of the key file that will replace it.
    :param its_key: the restored key, if it needs no passphrase.
    :raises KeyFileError: if the key file of this home is a link, or others can read it.
    """
    if (here := read_private(path)) == restored:
        say("The same key is here already.")
        return True
    try:
        own = _without_passphrase(here, path)
    except KeyFileError:
        say(f"The content of {shown_path(path)} cannot be read as a key. It is kept beside the restored one.")
        return False
    if own and its_key and own.public == its_key.public:
        say("The same key is here already, in another file. That file is kept beside the restored one.")
        return True
    key = "another key" if own and its_key else "a key"
    which = own.fingerprint if own else "protected by a passphrase"
    say(f"There is {key} here, {which}. It is kept beside the restored one, and you can go back to it.")
    return False


def _tell_what_stays(home: Home, file: Path, found: Backup, its_key: Identity | None, *, has_key_already: bool) -> None:
    """Print which matches, people and purses of this home stay, and whether those of the backup are restored.

    :param its_key: the key in the backup, if it needs no passphrase.
    :param has_key_already: whether this home already has the same key.
    """
    if not home.store.exists():
        _tell_of_the_purse(found)
        return
    try:
        with archive.read_store(home) as store:
            unfinished = len(archive.unfinished(store.matches()))
            remembers = backups.remembers(store)
    except StoreError:
        say("The store in this home cannot be read. If it is damaged, it will be set aside.")
        _tell_of_the_purse(found)
        return
    if unfinished:
        matches = counted(unfinished, "unfinished match", "unfinished matches")
        began = "it" if unfinished == 1 else "them"
        say(f"You can return to {matches} kept here only with the key that began {began}.")
    if remembers and found.made is not None:
        say("This home keeps its own matches, people and purses; those of the backup are not added.")
        say("To get those, restore into another home:")
        say(f"    {command_line('identity', 'restore', file, '--home', 'DIR')}")
    else:
        _tell_of_the_purse(found)


def _tell_of_the_purse(found: Backup) -> None:
    if found.has_purse:
        say(
            "Its purse is as it was then. If you have played for stakes since, first sit down with the same people, and"
            " do not stake anything yet: they hand back what is newer. Otherwise you begin another purse, without"
            " coins."
        )


@app.command(epilog=EPILOG)
def passphrase(
    ctx: typer.Context,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the passphrase.")] = False,
) -> None:
    """Set, change or remove the passphrase of your key.

    With a passphrase, a copied key file is useless to others, and you are asked for the passphrase whenever you play.
    Nobody can recover it for you. It protects only the key: anybody with a copy of the whole folder has the seeds of
    your unfinished matches. Earlier backups and copies stay as they are.
    """
    home = home_of(ctx)
    with closing(archive.open_store(home)) as store:
        had = unlocked(home.path)
        me = had or archive.unlock(home, store)[0]
        if remove and had is None:
            raise Failure("Your key has no passphrase.")
        write_whole(home.identity, me.encoded(None if remove else new_passphrase()))
    done = "removed" if remove else "set" if had is None else "changed"
    print(f"The passphrase of your key is {done}.")
    if not remove:
        say("If you forget it, the key is lost. Earlier copies and backups keep the passphrase that they had, or none.")
