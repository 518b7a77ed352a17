/* Runs the fuzz target over files: the kept corpus is a test also where libFuzzer is missing. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define INPUT_BYTES ((size_t)1 << 21)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
	uint8_t *bytes = malloc(INPUT_BYTES);
	if (bytes == NULL)
		return 1;
	for (int i = 1; i < argc; i++) {
		FILE *file = fopen(argv[i], "rb");
		if (file == NULL) {
			perror(argv[i]);
			free(bytes);
			return 1;
		}
		size_t size = fread(bytes, 1, INPUT_BYTES, file);
		(void)fclose(file);
		(void)LLVMFuzzerTestOneInput(bytes, size);
	}
	free(bytes);
	return argc > 1 ? 0 : 1;
}
