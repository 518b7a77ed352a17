#include "control/key.h"

#include "base/hex.h"
#include "base/pread_all.h"
#include "base/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_HEX ((size_t)2 * KEY_BYTES)

_Static_assert(KEY_BYTES == crypto_auth_KEYBYTES, "the key is used as it is");

static int file_check(int fd, const char *path, struct failure *failure)
{
	struct stat status;
	if (fstat(fd, &status) != 0)
		return failure_set_errno(failure, errno, "key file '%s'", path);
	if (!S_ISREG(status.st_mode))
		return failure_set(failure, "key file '%s': not a regular file", path);
	if (status.st_uid != geteuid() && status.st_uid != 0)
		return failure_set(failure,
				   "key file '%s': its owner is user %u, neither this one nor root",
				   path, (unsigned)status.st_uid);
	if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		return failure_set(failure,
				   "key file '%s': mode %04o lets others at it: chmod 600 '%s'",
				   path, (unsigned)status.st_mode & 07777U, path);
	return 0;
}

/* Exactly the digits, and a line feed or none. */
static bool key_parse(const char *text, size_t length, struct key *key)
{
	char digits[KEY_HEX + 1];
	if (length != KEY_HEX && (length != KEY_HEX + 1 || text[KEY_HEX] != '\n'))
		return false;
	memcpy(digits, text, KEY_HEX);
	digits[KEY_HEX] = '\0';
	bool right = hex_decode(digits, key->bytes, KEY_BYTES);
	sodium_memzero(digits, sizeof(digits));
	return right;
}

static int file_read(int fd, const char *path, struct key *key, struct failure *failure)
{
	char text[KEY_HEX + 2]; /* the digits, a line feed, and room to see that there is more */
	int status = file_check(fd, path, failure);
	ssize_t length =
	    status == 0 ? pread_all(fd, (uint8_t *)text, sizeof(text), sizeof(text), 0) : 0;
	if (length < 0)
		status = failure_set_errno(failure, errno, "key file '%s'", path);
	else if (status == 0 && !key_parse(text, (size_t)length, key))
		status = failure_set(failure,
				     "key file '%s': not %zu lower-case hexadecimal digits; "
				     "'landspeed-engine key FILE' makes one",
				     path, KEY_HEX);
	sodium_memzero(text, sizeof(text));
	return status;
}

struct key *key_read(const char *path, struct failure *failure)
{
	struct key *key = secret_create(sizeof(*key));
	if (key == NULL) {
		(void)failure_set(failure, "out of memory");
		return NULL;
	}
	/* Nonblocking: a fifo must not hang us before file_check has seen it. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int status = fd >= 0 ? file_read(fd, path, key, failure)
			     : failure_set_errno(failure, errno, "key file '%s'", path);
	if (fd >= 0)
		(void)close(fd);
	if (status == 0)
		return key;
	key_forget(key);
	return NULL;
}

int key_write(const char *path, struct failure *failure)
{
	struct key key;
	char text[KEY_HEX + 2];
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return failure_set_errno(failure, errno, "cannot make the key file '%s'", path);
	randombytes_buf(key.bytes, KEY_BYTES);
	hex_encode(key.bytes, KEY_BYTES, text);
	text[KEY_HEX] = '\n';
	int status = 0;
	if (write(fd, text, KEY_HEX + 1) != (ssize_t)KEY_HEX + 1 || fsync(fd) != 0)
		status = failure_set_errno(failure, errno, "cannot write the key file '%s'", path);
	if (close(fd) != 0)
		status = failure_set_errno(failure, errno, "cannot write the key file '%s'", path);
	if (status != 0)
		(void)unlink(path);
	sodium_memzero(&key, sizeof(key));
	sodium_memzero(text, sizeof(text));
	return status;
}

void key_forget(struct key *key)
{
	secret_destroy(key);
}
